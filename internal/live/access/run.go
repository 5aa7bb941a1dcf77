package access

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Run holds the options of an apply that decide which permissions it requires.
type Run struct {
	DryRun      bool
	NoDiagnosis bool
	SkipWait    func(object.ID) bool                  // resources that are not waited for
	Recreates   func(*unstructured.Unstructured) bool // objects that may be deleted and created again
	Health      *health.Assessor
}

// permissionBuilder collects the permissions that a run needs.
type permissionBuilder struct {
	run         Run
	kinds       kube.Kinds
	streamKinds kube.Kinds // by the stream
	out         kube.Permissions
}

// Permissions lists the permissions that the run of a plan needs, as far as they are
// known in advance. It makes no request.
func (r Run) Permissions(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	d := &permissionBuilder{run: r, kinds: kinds, streamKinds: kube.StreamKinds(objects)}
	gated := map[object.ID]bool{}
	made := map[string]bool{}
	for _, s := range plan.Steps {
		for _, need := range s.Needs {
			gated[need.ID] = gated[need.ID] || need.Gate != ordering.Applied
		}
		if s.ID.GroupKind() == "Namespace" {
			made[s.ID.Name] = true
		}
	}
	for _, s := range plan.Steps {
		waits := !d.run.DryRun && !d.run.SkipWait(s.ID) && (s.Gate == ordering.Ready || gated[s.ID])
		d.addStep(s, objects[s.ID], waits)
		if s.ID.Namespace != "" && !made[s.ID.Namespace] {
			d.addOptional("get", coreResource("namespaces"), s.ID.Namespace, s.ID.Namespace)
		}
	}
	if !r.DryRun {
		d.addLosses(plan, objects)
	}
	d.out.Sort()
	return d.out
}

// addLosses adds the permissions for finding the objects that a recreation would delete along.
func (d *permissionBuilder) addLosses(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) {
	for _, s := range plan.Steps {
		if !d.run.Recreates(objects[s.ID]) {
			continue
		}
		for _, other := range plan.Steps {
			kind, known := d.kinds(objects[other.ID].GroupVersionKind())
			if !known || s.ID.Namespace != "" && s.ID.Namespace != other.ID.Namespace {
				continue
			}
			d.addRequired("list", kind.Resource, other.ID.Namespace, "")
			if other.ID.Namespace != "" {
				d.addRequired("list", coreResource("persistentvolumeclaims"), other.ID.Namespace, "")
			}
		}
	}
}

// addStep adds the permissions for one resource.
func (d *permissionBuilder) addStep(s ordering.Step, obj *unstructured.Unstructured, waits bool) {
	kind, known := d.kinds(obj.GroupVersionKind())
	if _, defined := d.streamKinds(obj.GroupVersionKind()); !known || len(s.ProvidedBy) > 0 && !defined {
		d.addDefinitions()
	}
	if !known {
		d.out.Unknown = append(d.out.Unknown, obj.GroupVersionKind().GroupKind())
		return
	}
	resource, namespace, name := kind.Resource, s.ID.Namespace, s.ID.Name
	d.addRequired("patch", resource, namespace, name)
	d.addRequired("create", resource, namespace, name)
	d.addOptional("list", resource, namespace, "")
	d.addOptional("get", resource, namespace, name)
	if d.run.Recreates(obj) && !d.run.DryRun {
		d.addRequired("delete", resource, namespace, name)
		d.addRequired("get", resource, namespace, name)
		if definition, known := d.kinds(kube.DefiningKinds()[0]); known && !object.IsNative(resource.Group) { // its validation rules
			d.addOptional("get", definition.Resource, "", kind.CRDName())
		}
	}
	if len(fields.Of(obj.Object)) > 0 { // its fields' managers are read
		d.addRequired("get", resource, namespace, name)
	}
	if _, defined := d.streamKinds(obj.GroupVersionKind()); waits && !defined && !object.IsNative(resource.Group) {
		if definition, known := d.kinds(kube.DefiningKinds()[0]); known {
			d.addOptional("get", definition.Resource, "", kind.CRDName())
		}
	}
	if waits && d.run.Health.Assess(obj).Rule != health.Exists {
		d.addRequired("get", resource, namespace, name)
		d.addOptional("watch", resource, namespace, "")
		d.addWait(obj)
	}
	for _, need := range s.External {
		if need.Why.Rule == ordering.RuleMutation && d.isClusterScoped(need.ID) {
			need.ID.Namespace = ""
		}
		d.addExternal(need.ID)
	}
	d.addSources(obj)
}

func (d *permissionBuilder) isClusterScoped(id object.ID) bool {
	kind, known := d.kinds(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
	return known && !kind.Namespaced
}

// addSources adds the permissions for reading the objects that a manifest takes values of.
func (d *permissionBuilder) addSources(obj *unstructured.Unstructured) {
	entries, _ := mutation.Of(obj.GetAnnotations()) // faults are errors of the plan
	for _, e := range entries {
		id := e.Source.ID()
		gvk := schema.GroupVersionKind{Group: id.Group, Kind: id.Kind}
		kind, known := d.kinds(gvk)
		if !known {
			kind, known = d.streamKinds(gvk)
		}
		switch {
		case !known:
			d.out.Unknown = append(d.out.Unknown, gvk.GroupKind())
			continue
		case !kind.Namespaced:
			id.Namespace = ""
		case id.Namespace == "":
			id.Namespace = obj.GetNamespace()
		}
		d.addRequired("get", kind.Resource, id.Namespace, id.Name)
	}
}

// addDefinitions adds the permissions for waiting for a kind that the stream
// does not define.
func (d *permissionBuilder) addDefinitions() {
	for _, gvk := range kube.DefiningKinds() {
		if kind, known := d.kinds(gvk); known {
			d.addOptional("list", kind.Resource, "", "")
			d.addOptional("watch", kind.Resource, "", "")
		}
	}
}

// addWait adds the permissions for waiting for a resource and for the diagnosis
// when it does not become ready.
func (d *permissionBuilder) addWait(obj *unstructured.Unstructured) {
	for _, namespace := range webhookNamespaces(obj) {
		d.addRequired("list", kube.EndpointSliceKind().Resource, namespace, "")
		d.addOptional("watch", kube.EndpointSliceKind().Resource, namespace, "")
	}
	namespace := obj.GetNamespace()
	if d.run.NoDiagnosis || namespace == "" {
		return
	}
	d.addOptional("list", coreResource("events"), namespace, "")
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		d.addOptional("list", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, namespace, "")
	case "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController", "Pod", "Service":
	default:
		return
	}
	d.addOptional("list", coreResource("pods"), namespace, "")
	if kube.Meta(obj).ID.MakesPods() {
		d.addOptional("watch", coreResource("pods"), namespace, "")
		d.addOptional("watch", coreResource("events"), namespace, "")
	}
	d.addOptional("get", coreResource("persistentvolumeclaims"), namespace, "")
	log := kube.Permission{Verb: "get", Resource: coreResource("pods"), Subresource: "log", Namespace: namespace}
	d.out.Optional = append(d.out.Optional, log)
}

// addExternal adds the permissions for waiting for an object outside the stream.
func (d *permissionBuilder) addExternal(id object.ID) {
	if d.run.DryRun {
		return
	}
	kind, known := d.kinds(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
	if !known {
		d.addDefinitions()
		d.out.Unknown = append(d.out.Unknown, schema.GroupKind{Group: id.Group, Kind: id.Kind})
		return
	}
	if kind.Namespaced != (id.Namespace != "") {
		return // not readable; the run reports it
	}
	d.addRequired("get", kind.Resource, id.Namespace, id.Name)
	d.addOptional("list", kind.Resource, id.Namespace, "")
	d.addOptional("watch", kind.Resource, id.Namespace, "")
}

func (d *permissionBuilder) addRequired(verb string, resource schema.GroupVersionResource, namespace, name string) {
	d.out.Required = append(d.out.Required, kube.Permission{Verb: verb, Resource: resource, Namespace: namespace, Name: name})
}

func (d *permissionBuilder) addOptional(verb string, resource schema.GroupVersionResource, namespace, name string) {
	d.out.Optional = append(d.out.Optional, kube.Permission{Verb: verb, Resource: resource, Namespace: namespace, Name: name})
}

func coreResource(name string) schema.GroupVersionResource { return kube.CoreKind(name).Resource }

// webhookNamespaces returns the namespaces of the Services of a webhook
// configuration.
func webhookNamespaces(obj *unstructured.Unstructured) []string {
	gk := obj.GroupVersionKind().GroupKind()
	if gk.Group != "admissionregistration.k8s.io" {
		return nil
	}
	var namespaces []string
	webhooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
	for _, w := range webhooks {
		webhook, _ := w.(map[string]any)
		namespace, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "namespace")
		if namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}
