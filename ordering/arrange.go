package ordering

import (
	"errors"

	"github.com/ordapply/ordapply/object"
)

// Arrange plans a stamped stream for those who write its order down and do not
// apply it: a build, which may see only a part of what is applied. It refuses
// nothing. Declarations that name nothing are left out; where declarations form a
// cycle, all of them are; where the layers of several orders do, the plan is nil.
// Of resources with one ID the first counts.
func Arrange(resources []Resource) *Plan {
	resources = firstOfEach(resources)
	if plan, ok := arrange(resources); ok {
		return plan
	}
	undeclared := make([]Resource, len(resources))
	for i, r := range resources {
		undeclared[i] = withStampsOnly(r)
	}
	plan, _ := arrange(undeclared)
	return plan
}

// arrange is Build without its refusals; ok is false where there is a cycle.
func arrange(resources []Resource) (plan *Plan, ok bool) {
	b, err := newBuilder(resources, Options{Frame: FrameStamps, KeepHooks: true})
	var cycle *CycleError
	if errors.As(err, &cycle) {
		return nil, false
	}
	return b.plan(), true
}

func firstOfEach(resources []Resource) []Resource {
	seen := make(map[object.ID]bool, len(resources))
	out := make([]Resource, 0, len(resources))
	for _, r := range resources {
		if !seen[r.ID] {
			seen[r.ID] = true
			out = append(out, r)
		}
	}
	return out
}

// withStampsOnly is a resource without the dependencies that its author declared.
func withStampsOnly(r Resource) Resource {
	kept := map[string]string{}
	for _, key := range append(StampAnnotations(), ProvidesAnnotation) {
		if value, has := r.Annotations[key]; has {
			kept[key] = value
		}
	}
	r.Annotations = kept
	return r
}

// Refers reports whether resources of a kind can name others in their manifests.
// Of those that cannot, Arrange does not need the manifest.
func Refers(id object.ID) bool {
	return id.Group != "" || id.Kind != "ConfigMap" && id.Kind != "Secret" && id.Kind != "ServiceAccount" && id.Kind != "Namespace"
}

// Unread reports whether planning never looks at fields of this name, wherever they
// stand in a manifest: those who read manifests for Arrange need not keep them.
func Unread(field string) bool {
	switch field {
	case "openAPIV3Schema", "status", "data", "stringData", "binaryData", "managedFields",
		"image", "imagePullPolicy", "args", "command", "ports", "volumeMounts", "securityContext",
		"livenessProbe", "readinessProbe", "startupProbe", "tolerations", "affinity":
		return true
	}
	return false
}

// IsPrerequisite reports whether a resource is a CRD or a Namespace, without which
// others cannot exist.
func IsPrerequisite(id object.ID) bool { return isCRD(id) || isNamespace(id) }

// ReadyAtOnce reports whether resources of a kind are ready as soon as they are
// applied. Others may wait for what uses them, as a claim that binds on first use
// does, or for a controller.
func ReadyAtOnce(id object.ID) bool {
	switch id.GroupKind() {
	case "Service", "PersistentVolume", "Ingress.networking.k8s.io", "PodDisruptionBudget.policy", "HorizontalPodAutoscaler.autoscaling", "CustomResourceDefinition.apiextensions.k8s.io":
		return false
	}
	return inertKind(id.GroupKind())
}
