package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// What is deleted and stays is held: by finalizers, each of which somebody
// should take away when his work is done, or, a Namespace, by what is in it.

// holders finds out who holds one object. It reads and never writes.
type holders struct {
	cluster  Cluster
	kind     Kind
	live     *unstructured.Unstructured
	findings []Finding
}

// find tells of each that holds the object what it waits for and who should act.
func (h *holders) find(ctx context.Context) []Finding {
	if isNamespace(Meta(h.live).ID) {
		h.namespace(ctx)
	}
	var foreign []string
	for _, name := range h.live.GetFinalizers() {
		switch name {
		case "foregroundDeletion":
			h.dependants(ctx)
		case "orphan":
			h.say("finalizer orphan: kube-controller-manager takes it away when what it owned belongs to nobody; does it run?")
		case "kubernetes.io/pvc-protection":
			h.users(ctx)
		case "kubernetes.io/pv-protection":
			h.say("finalizer kubernetes.io/pv-protection: a PersistentVolumeClaim is bound to it; delete that first")
		case "customresourcecleanup.apiextensions.k8s.io":
			h.customResources(ctx)
		default:
			foreign = append(foreign, name)
			h.finalizer(ctx, name)
		}
	}
	if len(foreign) > 0 {
		h.wayOut(foreign)
	}
	return h.findings
}

func (h *holders) say(format string, args ...any) {
	h.findings = append(h.findings, Finding{About: Meta(h.live).ID, Text: fmt.Sprintf(format, args...)})
}

// unread notes what could not be looked at.
func (h *holders) unread(what string, err error) {
	h.findings = append(h.findings, Finding{Text: what + " cannot be read: " + inWords(err).Error()})
}

// users are the Pods that use a PersistentVolumeClaim.
func (h *holders) users(ctx context.Context) {
	pods, err := h.cluster.List(ctx, coreKind("pods"), h.live.GetNamespace(), Query{})
	if err != nil {
		h.unread("the Pods that use it", err)
		return
	}
	var using []object.ID
	for _, pod := range pods {
		if mounts(pod, h.live.GetName()) {
			using = append(using, object.ID{Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName()})
		}
	}
	if len(using) == 0 {
		h.say("finalizer kubernetes.io/pvc-protection: no Pod uses it any more, kube-controller-manager takes it away soon")
		return
	}
	h.say("finalizer kubernetes.io/pvc-protection: it goes when no Pod uses it; still using it: %s; delete what made them (kubectl delete pod deletes one alone)", names(using))
}

// mounts tells whether a Pod has a claim among its volumes.
func mounts(pod *unstructured.Unstructured, claim string) bool {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	return slices.ContainsFunc(volumes, func(v any) bool {
		volume, _ := v.(map[string]any)
		name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		return name == claim
	})
}

// dependants are what the object owns and waits for.
func (h *holders) dependants(ctx context.Context) {
	namespace := h.live.GetNamespace()
	if namespace == "" {
		h.say("finalizer foregroundDeletion: something that it owns is not gone")
		return
	}
	all, err := contents{cluster: h.cluster}.in(ctx, namespace)
	if err != nil {
		h.unread("what it owns", err)
	}
	var left []*unstructured.Unstructured
	for _, obj := range all {
		if owns(h.live, obj) {
			left = append(left, obj)
		}
	}
	if len(left) == 0 {
		h.say("finalizer foregroundDeletion: nothing that it owns is left; kube-controller-manager takes it away, which for a kind whose CustomResourceDefinition is new takes it half a minute to begin with")
		return
	}
	h.say("finalizer foregroundDeletion: what it owns is not gone: %s", held(left))
}

// customResources are those of a CustomResourceDefinition that are not gone.
func (h *holders) customResources(ctx context.Context) {
	left, err := contents{cluster: h.cluster}.ofKind(ctx, Meta(h.live).ID)
	switch {
	case err != nil:
		h.unread("its custom resources", err)
	case len(left) > 0:
		h.say("its custom resources are not gone: %s", held(left))
	}
}

// namespace tells what the conditions of a Namespace mean.
func (h *holders) namespace(ctx context.Context) {
	conditions, _, _ := unstructured.NestedSlice(h.live.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "NamespaceDeletionDiscoveryFailure":
			h.brokenServices(ctx)
		case "NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure":
			h.say("condition %v: %v", condition["type"], condition["message"])
		case "NamespaceContentRemaining":
			h.remaining(ctx)
		}
	}
}

// remaining tells what is left in a Namespace and what holds it.
func (h *holders) remaining(ctx context.Context) {
	left, err := contents{cluster: h.cluster}.in(ctx, h.live.GetName())
	if err != nil {
		h.unread("what is in it", err)
	}
	if len(left) > 0 {
		h.say("condition NamespaceContentRemaining: in it are still %s", held(left))
	}
}

// brokenServices names the APIServices whose backends do not answer.
func (h *holders) brokenServices(ctx context.Context) {
	gvk := schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	kind, _ := h.cluster.Kind(gvk)
	services, err := h.cluster.List(ctx, kind, "", Query{})
	if err != nil {
		h.unread("the APIServices", err)
		return
	}
	for _, service := range services {
		conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
		for _, c := range conditions {
			if condition, _ := c.(map[string]any); condition["type"] == "Available" && condition["status"] != "True" {
				h.say("condition NamespaceDeletionDiscoveryFailure: APIService %s is not available (%v), and no Namespace of the cluster goes before it can be asked what is in it: "+
					"repair what serves it, or, if that is gone for good, kubectl delete apiservice %[1]s", service.GetName(), condition["reason"])
			}
		}
	}
}

// finalizer tells who should take a finalizer away.
func (h *holders) finalizer(ctx context.Context, name string) {
	switch manager := h.setBy(name); {
	case name == "service.kubernetes.io/load-balancer-cleanup":
		h.say("finalizer %s: the cloud's controller takes it away when the load balancer is gone; kubectl describe service tells how far it is", name)
	case strings.HasPrefix(name, "batch.kubernetes.io/"), strings.HasPrefix(name, "kubernetes.io/"):
		h.say("finalizer %s: kube-controller-manager takes it away; does it run?", name)
	case manager == "":
		h.say("finalizer %s: whoever set it takes it away; nothing tells who that is", name)
	default:
		h.say("finalizer %s: set by field manager %q, %s", name, manager, h.runs(ctx, manager))
	}
}

// setBy is the field manager that set a finalizer; "" when nobody has it.
func (h *holders) setBy(finalizer string) string {
	for _, entry := range h.live.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), fmt.Sprintf(`"v:\"%s\""`, finalizer)) {
			return entry.Manager
		}
	}
	return ""
}

// runs tells whether a workload is called like a field manager.
func (h *holders) runs(ctx context.Context, manager string) string {
	if manager == "ordapply" || strings.HasPrefix(manager, "ordapply:") || strings.HasPrefix(manager, "kubectl") {
		return "that is with its manifest or by hand: who waits for its deletion there should take it away"
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
		served, _ := h.cluster.Kind(gvk)
		workloads, err := contents{cluster: h.cluster}.list(ctx, gvk, served, "")
		if err != nil {
			return "which should take it away; whether that runs cannot be read: " + inWords(err).Error()
		}
		for _, w := range workloads {
			if calledAlike(w.GetName(), manager) {
				return "which is probably " + Meta(w).ID.String() + ": its log should tell what it waits for"
			}
		}
	}
	return "and no workload of the cluster is called like that: if its operator is gone, install it again, so that it can clean up"
}

// wayOut is what a person may do when nobody takes finalizers away, and what
// that costs.
func (h *holders) wayOut(finalizers []string) {
	resource := h.kind.Resource.Resource
	if h.kind.Resource.Group != "" {
		resource += "." + h.kind.Resource.Group
	}
	where := ""
	if h.live.GetNamespace() != "" {
		where = " -n " + h.live.GetNamespace()
	}
	h.say("if nobody will: kubectl patch %s %s%s --type=merge -p '{\"metadata\":{\"finalizers\":null}}' lets it go at once, and what %s would have cleaned up stays behind",
		resource, h.live.GetName(), where, strings.Join(finalizers, ", "))
}

// held names objects with their finalizers, the first few.
func held(objects []*unstructured.Unstructured) string {
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return object.Compare(Meta(a).ID, Meta(b).ID) })
	var said []string
	for _, obj := range objects[:min(len(objects), namedBlocks)] {
		text := Meta(obj).ID.String()
		if names := obj.GetFinalizers(); len(names) > 0 {
			text += " (finalizers " + strings.Join(names, ", ") + ")"
		}
		said = append(said, text)
	}
	if more := len(objects) - namedBlocks; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// calledAlike tells whether a workload and a field manager are one by their
// names, such as cert-manager and cert-manager-certificates-issuing. A word that
// many names end with, such as operator, is no likeness.
func calledAlike(workload, manager string) bool {
	return strings.HasPrefix(workload+"-", manager+"-") || strings.HasPrefix(manager+"-", workload+"-")
}
