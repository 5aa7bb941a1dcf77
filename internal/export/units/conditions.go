package units

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// NativeCondition returns the condition, in CEL over self, of a native object that engines
// take for ready before it is; "" for others.
func NativeCondition(obj *unstructured.Unstructured) string {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "APIService.apiregistration.k8s.io":
		return `self.status.conditions.exists(c, c.type == "Available" && c.status == "True")`
	case "Service":
		if kind, _, _ := unstructured.NestedString(obj.Object, "spec", "type"); kind == "LoadBalancer" {
			return `self.spec.?type.orValue("") != "LoadBalancer" || has(self.status.loadBalancer.ingress) && size(self.status.loadBalancer.ingress) > 0`
		}
	case "Secret":
		if kind, _, _ := unstructured.NestedString(obj.Object, "type"); kind == "kubernetes.io/service-account-token" {
			return `self.type != "kubernetes.io/service-account-token" || has(self.data.token)`
		}
	case "ReplicationController":
		return `self.status.?readyReplicas.orValue(0) >= self.spec.?replicas.orValue(1)`
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		if hooks, _ := obj.Object["webhooks"].([]any); len(hooks) > 0 {
			return `self.webhooks.all(w, !has(w.clientConfig.service) || has(w.clientConfig.caBundle) && w.clientConfig.caBundle != "")`
		}
	}
	return ""
}

// AnySign returns conditions for a kind that no rule knows, in the words that most
// controllers use.
func AnySign() health.Conditions {
	return health.Conditions{
		Rule: "any sign",
		Ready: `has(self.status.conditions) && self.status.conditions.exists(c, c.type.lowerAscii() in ["ready", "available", "healthy", "succeeded", "complete", "completed", "established", "programmed"] && c.status == "True")` +
			` || has(self.status.phase) && self.status.phase.lowerAscii() in ["ready", "running", "active", "up", "bound", "succeeded", "complete", "completed", "healthy", "available"]` +
			` || has(self.status.state) && self.status.state.lowerAscii() in ["ready", "running", "active", "up", "succeeded", "complete", "completed", "healthy", "available"]` +
			` || has(self.status.ready) && self.status.ready == true`,
		Failed: `self.status.conditions.exists(c, c.type.lowerAscii() in ["failed", "stalled"] && c.status == "True")`,
	}
}

// IsFollowed reports whether any unit comes after this one.
func IsFollowed(units []Unit, u int) bool {
	return slices.ContainsFunc(units, func(other Unit) bool { return slices.Contains(other.After, u) })
}

// HasNoStatus reports whether the stream has the CRD of a kind, and the CRD defines no
// status: nothing can say then whether an object is ready.
func (s *Stream) HasNoStatus(kind schema.GroupVersionKind) bool {
	spec := s.crdOf(kind.GroupKind())
	if spec == nil {
		return false
	}
	versions, _, _ := unstructured.NestedSlice(spec, "versions")
	return !slices.ContainsFunc(versions, func(v any) bool {
		version, _ := v.(map[string]any)
		_, subresource, _ := unstructured.NestedMap(version, "subresources", "status")
		_, field, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status")
		return version["name"] == kind.Version && (subresource || field)
	})
}

// IsOfUnknownCRD reports whether an object is of a kind that is neither native nor defined
// by a CRD of the stream.
func (s *Stream) IsOfUnknownCRD(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return !object.IsNative(kind.Group) && s.crdOf(kind) == nil
}

// crdOf returns the spec of the stream's CRD of a kind; nil if there is none.
func (s *Stream) crdOf(kind schema.GroupKind) map[string]any {
	for i, step := range s.Plan.Steps {
		if !step.ID.IsCRD() {
			continue
		}
		spec, _ := s.Object(i).Object["spec"].(map[string]any)
		group, _, _ := unstructured.NestedString(spec, "group")
		name, _, _ := unstructured.NestedString(spec, "names", "kind")
		if group == kind.Group && name == kind.Kind {
			return spec
		}
	}
	return nil
}
