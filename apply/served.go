package apply

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// Kinds tells how kinds are served. One without a version stands for the
// version that the API server would prefer.
type Kinds func(schema.GroupVersionKind) (Kind, bool)

// Or asks others about what these do not know.
func (k Kinds) Or(others Kinds) Kinds {
	return func(gvk schema.GroupVersionKind) (Kind, bool) {
		if kind, known := k(gvk); known {
			return kind, true
		}
		return others(gvk)
	}
}

// KindsOf tells how a cluster serves kinds now.
func KindsOf(cluster Cluster) Kinds {
	return func(gvk schema.GroupVersionKind) (Kind, bool) {
		if gvk.Version == "" {
			versions := cluster.Versions(gvk.GroupKind())
			if len(versions) == 0 {
				return Kind{}, false
			}
			gvk.Version = versions[0]
		}
		return cluster.Kind(gvk)
	}
}

// StreamKinds tells how the kinds that CustomResourceDefinitions of a stream
// define will be served.
func StreamKinds(objects map[object.ID]*unstructured.Unstructured) Kinds {
	kinds := map[schema.GroupKind]Kind{}
	for _, obj := range objects {
		for _, gvk := range definedKinds(obj) {
			plural, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "plural")
			scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
			kinds[gvk.GroupKind()] = Kind{Resource: gvk.GroupVersion().WithResource(plural), Namespaced: scope == "Namespaced"}
		}
	}
	return func(gvk schema.GroupVersionKind) (Kind, bool) {
		kind, known := kinds[gvk.GroupKind()]
		if gvk.Version != "" {
			kind.Resource.Version = gvk.Version
		}
		return kind, known
	}
}

// OwnKinds tells how Kubernetes serves its own kinds, for when there is no
// cluster to ask.
func OwnKinds(gvk schema.GroupVersionKind) (Kind, bool) {
	if !health.IsNative(gvk.Group) {
		return Kind{}, false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return Kind{Resource: plural, Namespaced: !clusterScoped(gvk.GroupKind())}, true
}
