package planner

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Arrange plans a stamped stream whose order is only written down, as in a
// build, which may be only part of a later apply. It has no errors:
// declarations that name a missing resource are ignored; if declarations form a
// cycle, all of them are ignored; if the layers of several orders form a cycle,
// the plan is nil. Of resources with the same ID only the first counts.
func Arrange(resources []ordering.Resource) *ordering.Plan {
	resources = firstOfEach(resources)
	if plan, ok := arrange(resources); ok {
		return plan
	}
	undeclared := make([]ordering.Resource, len(resources))
	for i, r := range resources {
		undeclared[i] = withStampsOnly(r)
	}
	plan, _ := arrange(undeclared)
	return plan
}

// arrange is Build without its errors; ok is false if there is a cycle.
func arrange(resources []ordering.Resource) (plan *ordering.Plan, ok bool) {
	d, err := edges.Find(resources, ordering.Options{OrderSource: ordering.OrderSourceStamps, KeepHooks: true})
	var cycle *ordering.CycleError
	if errors.As(err, &cycle) {
		return nil, false
	}
	return planOf(d), true
}

// firstOfEach returns the first resource with each ID: the list itself if all differ.
func firstOfEach(resources []ordering.Resource) []ordering.Resource {
	first := make(map[object.ID]int, len(resources))
	for i, r := range slices.Backward(resources) {
		first[r.ID] = i
	}
	if len(first) == len(resources) {
		return resources
	}
	out := make([]ordering.Resource, 0, len(first))
	for i, r := range resources {
		if first[r.ID] == i {
			out = append(out, r)
		}
	}
	return out
}

// withStampsOnly returns the resource without the dependencies that its
// annotations declare.
func withStampsOnly(r ordering.Resource) ordering.Resource {
	kept := map[string]string{}
	for _, key := range append(stamp.Keys(), ordering.ProvidesAnnotation) {
		if value, has := r.Annotations[key]; has {
			kept[key] = value
		}
	}
	r.Annotations = kept
	return r
}

// HasReferences reports whether resources of an ID's kind can name others in their
// manifests. For kinds that cannot, Arrange needs only the ID and metadata.
func HasReferences(id object.ID) bool {
	return id.Group != "" || id.Kind != "ConfigMap" && id.Kind != "Secret" && id.Kind != "ServiceAccount" && id.Kind != "Namespace"
}

// IgnoresField reports whether planning ignores fields of this name at any depth of a
// manifest. Callers that read manifests for Arrange may drop them.
func IgnoresField(field string) bool {
	switch field {
	case "openAPIV3Schema", "status", "data", "stringData", "binaryData", "managedFields",
		"image", "imagePullPolicy", "ports", "volumeMounts", "securityContext",
		"livenessProbe", "readinessProbe", "startupProbe", "tolerations", "affinity":
		return true
	}
	return false
}

// ReadyWhenApplied reports whether resources of an ID's kind are ready as soon as
// they are applied. Others may wait for a controller or for their consumer, as a
// PersistentVolumeClaim with WaitForFirstConsumer does.
func ReadyWhenApplied(id object.ID) bool {
	switch id.GroupKind() {
	case "Service", "PersistentVolume", "Ingress.networking.k8s.io", "PodDisruptionBudget.policy", "HorizontalPodAutoscaler.autoscaling", "CustomResourceDefinition.apiextensions.k8s.io":
		return false
	}
	return edges.IsInertKind(id.GroupKind())
}
