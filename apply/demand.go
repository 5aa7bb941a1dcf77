package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// demand gathers what a run will ask for.
type demand struct {
	a       Applier
	kinds   Kinds
	defined Kinds // by the stream
	out     Permissions
}

// Permissions tells what Run will ask for, by all that can be known before. It
// makes no request.
func (a Applier) Permissions(plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured, kinds Kinds) Permissions {
	d := &demand{a: a.withDefaults(), kinds: kinds, defined: StreamKinds(objects)}
	gated := map[object.ID]bool{}
	made := map[string]bool{}
	for _, s := range plan.Steps {
		for _, need := range s.Needs {
			gated[need.ID] = gated[need.ID] || need.Gate == ordering.Ready
		}
		if s.ID.GroupKind() == "Namespace" {
			made[s.ID.Name] = true
		}
	}
	for _, s := range plan.Steps {
		waits := !d.a.DryRun && !d.a.Ungated(s.ID) && (s.Gate == ordering.Ready || gated[s.ID])
		d.step(s, objects[s.ID], waits)
		if s.ID.Namespace != "" && !made[s.ID.Namespace] {
			d.optional("get", coreResource("namespaces"), s.ID.Namespace, s.ID.Namespace)
		}
	}
	d.out.tidy()
	return d.out
}

// step is what one resource asks for.
func (d *demand) step(s ordering.Step, obj *unstructured.Unstructured, waits bool) {
	kind, known := d.kinds(obj.GroupVersionKind())
	if _, defined := d.defined(obj.GroupVersionKind()); !known || len(s.MadeBy) > 0 && !defined {
		d.definitions()
	}
	if !known {
		d.out.Unknown = append(d.out.Unknown, obj.GroupVersionKind().GroupKind())
		return
	}
	resource, namespace, name := kind.Resource, s.ID.Namespace, s.ID.Name
	d.required("patch", resource, namespace, name)
	d.required("create", resource, namespace, name)
	d.optional("list", resource, namespace, "")
	d.optional("get", resource, namespace, name)
	if obj.GetAnnotations()[onImmutableAnnotation] == "recreate" && !d.a.DryRun {
		d.required("delete", resource, namespace, name)
		d.required("get", resource, namespace, name)
	}
	if _, defined := d.defined(obj.GroupVersionKind()); waits && !defined && !health.IsNative(resource.Group) {
		if definition, known := d.kinds(definitions()[0]); known {
			d.optional("get", definition.Resource, "", definitionOf(kind))
		}
	}
	if waits && d.a.Health.Assess(obj).Rule != health.Exists {
		d.required("get", resource, namespace, name)
		d.optional("watch", resource, namespace, "")
		d.wait(obj)
	}
	for _, need := range s.External {
		d.external(need.ID)
	}
}

// definitions is what waiting for a kind asks for that the stream does not
// define.
func (d *demand) definitions() {
	for _, gvk := range definitions() {
		if kind, known := d.kinds(gvk); known {
			d.optional("list", kind.Resource, "", "")
			d.optional("watch", kind.Resource, "", "")
		}
	}
}

// wait is what is read while a resource is waited for, or when that was in
// vain.
func (d *demand) wait(obj *unstructured.Unstructured) {
	for _, namespace := range webhookNamespaces(obj) {
		d.required("list", endpointSlices().Resource, namespace, "")
		d.optional("watch", endpointSlices().Resource, namespace, "")
	}
	namespace := obj.GetNamespace()
	if d.a.NoDiagnosis || namespace == "" {
		return
	}
	d.optional("list", coreResource("events"), namespace, "")
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		d.optional("list", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, namespace, "")
	case "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController", "Pod", "Service":
	default:
		return
	}
	d.optional("list", coreResource("pods"), namespace, "")
	if makesPods(Meta(obj).ID) {
		d.optional("watch", coreResource("pods"), namespace, "")
		d.optional("watch", coreResource("events"), namespace, "")
	}
	d.optional("get", coreResource("persistentvolumeclaims"), namespace, "")
	log := Permission{Verb: "get", Resource: coreResource("pods"), Subresource: "log", Namespace: namespace}
	d.out.Optional = append(d.out.Optional, log)
}

// external is what looking at an object outside the stream asks for.
func (d *demand) external(id object.ID) {
	if d.a.DryRun {
		return
	}
	kind, known := d.kinds(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
	if !known {
		d.definitions()
		d.out.Unknown = append(d.out.Unknown, schema.GroupKind{Group: id.Group, Kind: id.Kind})
		return
	}
	if kind.Namespaced != (id.Namespace != "") {
		return // nobody can read that; the run tells so
	}
	d.required("get", kind.Resource, id.Namespace, id.Name)
	d.optional("list", kind.Resource, id.Namespace, "")
	d.optional("watch", kind.Resource, id.Namespace, "")
}

func (d *demand) required(verb string, resource schema.GroupVersionResource, namespace, name string) {
	d.out.Required = append(d.out.Required, Permission{Verb: verb, Resource: resource, Namespace: namespace, Name: name})
}

func (d *demand) optional(verb string, resource schema.GroupVersionResource, namespace, name string) {
	d.out.Optional = append(d.out.Optional, Permission{Verb: verb, Resource: resource, Namespace: namespace, Name: name})
}

func coreResource(name string) schema.GroupVersionResource { return coreKind(name).Resource }

// webhookNamespaces are those of the Services behind a webhook configuration.
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
