package memcluster

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
)

// Discovery has a Store's unserved kinds.
type Discovery struct {
	Gone             map[schema.GroupKind]bool // kinds that are not served
	Late             map[schema.GroupKind]bool // of these, kinds that a refreshed discovery lists
	UnreadableGroups map[string]bool           // groups whose server does not answer
	Namespaced       []schema.GroupVersionKind // the answer of NamespacedKinds
}

// Kind implements kube.Cluster.
func (s *Store) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return kindNamed(gvk), !s.Gone[gvk.GroupKind()] && !s.UnreadableGroups[gvk.Group]
}

// Versions implements kube.Cluster: every kind is served as v1.
func (s *Store) Versions(gk schema.GroupKind) []string {
	if _, served := s.Kind(gk.WithVersion("v1")); !served {
		return nil
	}
	return []string{"v1"}
}

// Unreadable implements kube.Cluster.
func (s *Store) Unreadable(gv schema.GroupVersion) error {
	if s.UnreadableGroups[gv.Group] {
		return fmt.Errorf("what serves %s does not answer", gv)
	}
	return nil
}

// AllUnreadable implements kube.Cluster.
func (s *Store) AllUnreadable() []schema.GroupVersion {
	var all []schema.GroupVersion
	for group := range s.UnreadableGroups {
		all = append(all, schema.GroupVersion{Group: group, Version: "v1"})
	}
	return all
}

// Refresh makes the kinds of Late served.
func (s *Store) Refresh(_ context.Context, versions ...schema.GroupVersion) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Log = append(s.Log, "discover")
	for gk := range s.Late {
		if slices.ContainsFunc(versions, func(gv schema.GroupVersion) bool { return gv.Group == gk.Group }) {
			delete(s.Gone, gk)
		}
	}
	return nil
}

// Schema implements kube.Cluster: the stored definition is published.
func (s *Store) Schema(_ context.Context, gvk schema.GroupVersionKind) (map[string]any, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, crd := range s.Objects {
		if !slices.Contains(kube.DefinedKinds(crd), gvk) {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, version := range versions {
			if version, _ := version.(map[string]any); version["name"] == gvk.Version {
				declared, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
				return declared, err
			}
		}
	}
	return nil, nil
}

// NamespacedKinds implements kube.Cluster.
func (s *Store) NamespacedKinds() []schema.GroupVersionKind { return s.Namespaced }

// StoredKinds implements kube.Cluster: the kinds of the stored objects.
func (s *Store) StoredKinds() []schema.GroupVersionKind {
	s.Mu.Lock()
	var kinds []schema.GroupVersionKind
	for _, obj := range s.Objects {
		if gvk := obj.GroupVersionKind(); gvk.Kind != "" && !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	s.Mu.Unlock()
	return slices.DeleteFunc(kinds, func(gvk schema.GroupVersionKind) bool { _, served := s.Kind(gvk); return !served })
}

// Allowed permits everything.
func (s *Store) Allowed(context.Context, kube.Permission) (bool, error) { return true, nil }
