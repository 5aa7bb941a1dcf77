package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// Kinds returns how a kind is served; false when it is not known. A kind
// without a version stands for the newest version that is served.
type Kinds func(schema.GroupVersionKind) (Kind, bool)

// Or returns a Kinds that uses others for kinds that k does not know.
func (k Kinds) Or(others Kinds) Kinds {
	return func(gvk schema.GroupVersionKind) (Kind, bool) {
		if kind, known := k(gvk); known {
			return kind, true
		}
		return others(gvk)
	}
}

// Discovery is the part of a Cluster that reports served kinds.
type Discovery interface {
	Kind(schema.GroupVersionKind) (Kind, bool)
	Versions(schema.GroupKind) []string
}

// KindsOf returns the Kinds of a cluster, read at each call.
func KindsOf(cluster Discovery) Kinds {
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

// StreamKinds returns how the kinds that the stream's
// CustomResourceDefinitions define will be served.
func StreamKinds(objects map[object.ID]*unstructured.Unstructured) Kinds {
	kinds := map[schema.GroupKind]Kind{}
	for _, obj := range objects {
		for _, gvk := range DefinedKinds(obj) {
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

// OwnKinds returns how Kubernetes serves its built-in kinds, for use without
// a cluster; false for groups of CRDs.
func OwnKinds(gvk schema.GroupVersionKind) (Kind, bool) {
	if !object.IsNative(gvk.Group) {
		return Kind{}, false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return Kind{Resource: plural, Namespaced: !IsClusterScoped(gvk.GroupKind())}, true
}

// DefinedKind returns the kind that a CustomResourceDefinition defines; false for any other
// object.
func DefinedKind(obj *unstructured.Unstructured) (schema.GroupKind, bool) {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, kind != ""
}

// DefinedKinds returns the kinds that a CustomResourceDefinition serves; none
// for any other object.
func DefinedKinds(obj *unstructured.Unstructured) []schema.GroupVersionKind {
	gk, ok := DefinedKind(obj)
	if !ok {
		return nil
	}
	versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
	var kinds []schema.GroupVersionKind
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if name, _ := version["name"].(string); ok && version["served"] == true {
			kinds = append(kinds, gk.WithVersion(name))
		}
	}
	return kinds
}
