package desired

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Some fields are left for controllers to fill. A manifest that has them
// empty must neither own them nor overwrite them when it is applied again.

// dropControllerFields removes such fields, in place: empty CA bundles and
// those that cert-manager injects, the data of empty Secrets, the rules of
// aggregated ClusterRoles, and the replicas of workloads that an autoscaler
// of the stream scales.
func dropControllerFields(obj *unstructured.Unstructured, scaled bool) {
	gk := obj.GroupVersionKind().GroupKind()
	switch {
	case gk.Group == "" && gk.Kind == "Secret":
		dropEmptyData(obj.Object)
	case gk.Kind == "ClusterRole" && obj.Object["aggregationRule"] != nil:
		delete(obj.Object, "rules")
	case gk.Group == "admissionregistration.k8s.io" || gk.Group == "apiregistration.k8s.io" || gk.Group == "apiextensions.k8s.io":
		dropCABundles(obj.Object, hasInjectedBundles(obj))
	}
	if scaled {
		unstructured.RemoveNestedField(obj.Object, "spec", "replicas")
	}
}

// hasInjectedBundles reports whether cert-manager's annotations make it write an
// object's CA bundles.
func hasInjectedBundles(obj *unstructured.Unstructured) bool {
	annotations := obj.GetAnnotations()
	return annotations["cert-manager.io/inject-ca-from"] != "" || annotations["cert-manager.io/inject-ca-from-secret"] != "" ||
		annotations["cert-manager.io/inject-apiserver-ca"] == "true"
}

// dropEmptyData removes the data of a Secret whose values are all empty. A
// Secret of type kubernetes.io/tls must have its keys, and keeps them.
func dropEmptyData(secret map[string]any) {
	data, ok := secret["data"].(map[string]any)
	if !ok || secret["type"] == "kubernetes.io/tls" {
		return
	}
	for _, value := range data {
		if text, ok := value.(string); !ok || text != "" {
			return
		}
	}
	delete(secret, "data")
}

// dropCABundles removes the caBundle fields at any depth: all of them, or the
// empty ones. "Cg==" is an empty line, which some generators write for an
// empty bundle.
func dropCABundles(value any, all bool) {
	switch value := value.(type) {
	case map[string]any:
		if bundle, ok := value["caBundle"].(string); ok && (all || bundle == "" || bundle == "Cg==") {
			delete(value, "caBundle")
		}
		for _, field := range value {
			dropCABundles(field, all)
		}
	case []any:
		for _, element := range value {
			dropCABundles(element, all)
		}
	}
}

// scaledTargets returns the targets of the stream's HorizontalPodAutoscalers.
func scaledTargets(objects map[object.ID]*unstructured.Unstructured) map[object.ID]bool {
	targets := map[object.ID]bool{}
	for id, obj := range objects {
		if id.Group != "autoscaling" || id.Kind != "HorizontalPodAutoscaler" {
			continue
		}
		ref, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "scaleTargetRef")
		group, _ := object.SplitAPIVersion(ref["apiVersion"])
		targets[object.ID{Group: group, Kind: ref["kind"], Namespace: id.Namespace, Name: ref["name"]}] = true
	}
	return targets
}
