package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// A terminating object is kept by finalizers, which controllers remove when they
// are done, or, in the case of a Namespace, by its contents.

// Deletion finds the blockers of one object's deletion. It only reads.
type Deletion struct {
	Cluster  kube.Cluster
	Kind     kube.Kind
	Live     *unstructured.Unstructured
	findings []event.Finding
}

// Diagnose reports everything that blocks the deletion, with the reason and the remedy.
func (h *Deletion) Diagnose(ctx context.Context) []event.Finding {
	if kube.Meta(h.Live).ID.IsNamespace() {
		h.namespace(ctx)
	}
	var foreign []string
	for _, name := range h.Live.GetFinalizers() {
		switch name {
		case "foregroundDeletion":
			h.dependents(ctx)
		case "orphan":
			h.addFinding("finalizer orphan: kube-controller-manager removes it when its dependents are orphaned; is it running?")
		case "kubernetes.io/pvc-protection":
			h.claimUsers(ctx)
		case "kubernetes.io/pv-protection":
			h.addFinding("finalizer kubernetes.io/pv-protection: a PersistentVolumeClaim is bound to it; delete that first")
		case "customresourcecleanup.apiextensions.k8s.io":
			h.customResources(ctx)
		default:
			foreign = append(foreign, name)
			h.finalizer(ctx, name)
		}
	}
	if len(foreign) > 0 {
		h.manualRemoval(foreign)
	}
	return h.findings
}

func (h *Deletion) addFinding(format string, args ...any) {
	h.findings = append(h.findings, event.Finding{About: kube.Meta(h.Live).ID, Text: fmt.Sprintf(format, args...)})
}

// recordUnread records a failed read.
func (h *Deletion) recordUnread(what string, err error) {
	h.findings = append(h.findings, event.Finding{Text: what + " cannot be read: " + fault.TimeoutInWords(err).Error()})
}

// claimUsers reports the Pods that use a PersistentVolumeClaim.
func (h *Deletion) claimUsers(ctx context.Context) {
	pods, err := h.Cluster.List(ctx, kube.CoreKind("pods"), h.Live.GetNamespace(), kube.Query{})
	if err != nil {
		h.recordUnread("the Pods that use it", err)
		return
	}
	var using []object.ID
	for _, pod := range pods {
		if mounts(pod, h.Live.GetName()) {
			using = append(using, object.ID{Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName()})
		}
	}
	if len(using) == 0 {
		h.addFinding("finalizer kubernetes.io/pvc-protection: no Pod uses it any more; kube-controller-manager removes the finalizer soon")
		return
	}
	h.addFinding("finalizer kubernetes.io/pvc-protection: removed when no Pod uses the claim; still used by %s; delete the workloads of these Pods (kubectl delete pod deletes one alone)", event.JoinNames(using))
}

// mounts reports whether a Pod has a claim among its volumes.
func mounts(pod *unstructured.Unstructured, claim string) bool {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	return slices.ContainsFunc(volumes, func(v any) bool {
		volume, _ := v.(map[string]any)
		name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		return name == claim
	})
}

// dependents reports the dependents that a foreground deletion waits for.
func (h *Deletion) dependents(ctx context.Context) {
	namespace := h.Live.GetNamespace()
	if namespace == "" {
		h.addFinding("finalizer foregroundDeletion: kube-controller-manager removes it when the objects whose ownerReferences block its deletion are gone; they may be in any namespace, and were not looked for")
		return
	}
	all, err := Search{Cluster: h.Cluster}.InNamespace(ctx, namespace)
	if err != nil {
		h.recordUnread("its dependents", err)
	}
	var left []*unstructured.Unstructured
	for _, obj := range all {
		if slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == h.Live.GetUID() }) {
			left = append(left, obj)
		}
	}
	switch {
	case len(left) > 0:
		h.addFinding("finalizer foregroundDeletion: its dependents still exist: %s", withFinalizers(left))
	case err == nil: // otherwise it is not known whether any are left
		h.addFinding("finalizer foregroundDeletion: no dependents are left; kube-controller-manager removes it, after up to half a minute for a kind whose CustomResourceDefinition is new, and not before it can list all objects of the kind (see its log)")
	}
}

// customResources reports the remaining resources of a
// CustomResourceDefinition.
func (h *Deletion) customResources(ctx context.Context) {
	left, err := Search{Cluster: h.Cluster}.OfKind(ctx, kube.Meta(h.Live).ID)
	switch {
	case err != nil:
		h.recordUnread("its custom resources", err)
	case len(left) > 0:
		h.addFinding("its custom resources still exist: %s", withFinalizers(left))
	}
}

// namespace reports the meaning of a Namespace's conditions.
func (h *Deletion) namespace(ctx context.Context) {
	for _, condition := range status.Conditions(status.Status(h.Live)) {
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "NamespaceDeletionDiscoveryFailure":
			h.brokenServices(ctx)
		case "NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure":
			h.addFinding("condition %v: %v", condition["type"], condition["message"])
		case "NamespaceContentRemaining":
			h.namespaceContents(ctx)
		}
	}
}

// namespaceContents reports the contents of a Namespace and their finalizers.
func (h *Deletion) namespaceContents(ctx context.Context) {
	left, err := Search{Cluster: h.Cluster}.InNamespace(ctx, h.Live.GetName())
	if err != nil {
		h.recordUnread("its contents", err)
	}
	if len(left) > 0 {
		h.addFinding("condition NamespaceContentRemaining: it still contains %s", withFinalizers(left))
	}
}

// brokenServices reports the APIServices whose backends do not answer.
func (h *Deletion) brokenServices(ctx context.Context) {
	gvk := schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	kind, _ := h.Cluster.Kind(gvk)
	services, err := h.Cluster.List(ctx, kind, "", kube.Query{})
	if err != nil {
		h.recordUnread("the APIServices", err)
		return
	}
	for _, service := range services {
		if condition := status.Condition(status.Status(service), "Available"); condition != nil && condition["status"] != "True" {
			h.addFinding("condition NamespaceDeletionDiscoveryFailure: APIService %s is not available (%v), which blocks the deletion of every Namespace in the cluster: "+
				"repair its backend, or, if that is gone for good, kubectl delete apiservice %[1]s", service.GetName(), condition["reason"])
		}
	}
}

// finalizer reports the controller behind a finalizer.
func (h *Deletion) finalizer(ctx context.Context, name string) {
	switch manager := h.finalizerManager(name); {
	case name == "service.kubernetes.io/load-balancer-cleanup":
		h.addFinding("finalizer %s: the cloud controller removes it when the load balancer is gone; kubectl describe service shows its progress", name)
	case strings.HasPrefix(name, "batch.kubernetes.io/"), strings.HasPrefix(name, "kubernetes.io/"):
		h.addFinding("finalizer %s: kube-controller-manager removes it; is it running?", name)
	case manager == "ordapply", strings.HasPrefix(manager, "ordapply:"):
		h.addFinding("finalizer %s: the manifest sets it, for a controller that removes it after its cleanup: check that this controller runs, and install it again if it was deleted", name)
	case manager == "":
		h.addFinding("finalizer %s: the controller that set it removes it; which one is unknown", name)
	default:
		h.addFinding("finalizer %s: set by field manager %q, %s", name, manager, h.workloadNamedLike(ctx, manager))
	}
}

// finalizerManager returns the field manager that set a finalizer; "" when managedFields
// do not name one.
func (h *Deletion) finalizerManager(finalizer string) string {
	for _, entry := range h.Live.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), fmt.Sprintf(`"v:\"%s\""`, finalizer)) {
			return entry.Manager
		}
	}
	return ""
}

// workloadNamedLike describes the workload whose name resembles a field manager, or
// reports that there is none.
func (h *Deletion) workloadNamedLike(ctx context.Context, manager string) string {
	if strings.HasPrefix(manager, "kubectl") {
		return "from a manifest or by hand: check that the controller runs for which it is meant; if there is none, the person or tool that added it must remove it"
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
		served, _ := h.Cluster.Kind(gvk)
		workloads, err := Search{Cluster: h.Cluster}.List(ctx, gvk, served, "")
		if err != nil {
			return "which must remove it; its workload cannot be read: " + fault.TimeoutInWords(err).Error()
		}
		for _, w := range workloads {
			if namesMatch(w.GetName(), manager) {
				return "probably " + kube.Meta(w).ID.String() + ": check its log for what it waits for"
			}
		}
	}
	return "but no workload in the cluster has that name: if its operator was removed, install it again so that it can clean up"
}

// manualRemoval reports how to remove finalizers by hand when no controller does,
// and the consequences.
func (h *Deletion) manualRemoval(finalizers []string) {
	resource := h.Kind.Resource.Resource
	if h.Kind.Resource.Group != "" {
		resource += "." + h.Kind.Resource.Group
	}
	where := ""
	if h.Live.GetNamespace() != "" {
		where = " -n " + h.Live.GetNamespace()
	}
	h.addFinding("if no controller removes them: kubectl patch %s %s%s --type=merge -p '{\"metadata\":{\"finalizers\":null}}' removes them at once, and what %s would have cleaned up is left behind",
		resource, h.Live.GetName(), where, strings.Join(finalizers, ", "))
}

// withFinalizers lists the first few objects with their finalizers.
func withFinalizers(objects []*unstructured.Unstructured) string {
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return object.Compare(kube.Meta(a).ID, kube.Meta(b).ID) })
	return strings.Join(plain.Sample(objects, event.MaxNames, "and %d more", func(obj *unstructured.Unstructured) string {
		text := kube.Meta(obj).ID.String()
		if names := obj.GetFinalizers(); len(names) > 0 {
			text += " (finalizers " + strings.Join(names, ", ") + ")"
		}
		return text
	}), "; ")
}

// namesMatch reports whether the names of a workload and a field manager
// belong together, such as cert-manager and
// cert-manager-certificates-issuing: one must be a prefix of the other. A
// shared last word, such as operator, does not count.
func namesMatch(workload, manager string) bool {
	return strings.HasPrefix(workload+"-", manager+"-") || strings.HasPrefix(manager+"-", workload+"-")
}
