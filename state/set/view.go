package set

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// ParentView returns the view of the set's parent.
func (s *Set) ParentView() kube.View {
	return kube.View{Kind: s.kind, Namespace: s.Parent.ID.Namespace, Query: kube.Query{Fields: "metadata.name=" + s.Parent.ID.Name}}
}

// MemberViews returns the views of all objects with the set's label: one for
// each of the set's kinds, in the set's namespace where it has only one,
// otherwise in all.
func (s *Set) MemberViews() []kube.View {
	var views []kube.View
	namespaces := s.Namespaces()
	for _, gk := range s.Parent.Kinds {
		gvk, ok := s.servedVersion(gk)
		if !ok {
			continue
		}
		kind, _ := s.cluster.Kind(gvk)
		view := kube.View{Kind: kind, Query: kube.Query{Labels: applyset.PartOfLabel + "=" + s.Parent.SetID()}}
		switch {
		case s.missingGroupKinds || !kind.Namespaced || len(namespaces) > 1:
			views = append(views, view)
		case len(namespaces) == 1:
			view.Namespace = namespaces[0]
			views = append(views, view)
		}
	}
	return views
}

// PerNamespace returns the views of single namespaces that replace one of all
// namespaces, where watching all is not allowed; none for any other view.
func (s *Set) PerNamespace(v kube.View) []kube.View {
	if !v.Kind.Namespaced || v.Namespace != "" {
		return nil
	}
	var views []kube.View
	for _, namespace := range s.Namespaces() {
		v.Namespace = namespace
		views = append(views, v)
	}
	return views
}

// UnservedKinds returns the kinds of the set that are in no view: discovery does
// not list them, or their API server does not answer.
func (s *Set) UnservedKinds() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, gk := range s.Parent.Kinds {
		if _, ok := s.servedVersion(gk); !ok {
			kinds = append(kinds, gk)
		}
	}
	return kinds
}

// FilterMembers returns the members among objects with the set's label, as
// FullMembers does. It makes no request: a kind that is not served has no
// objects if the last call of FullMembers proved that.
func (s *Set) FilterMembers(objects []*unstructured.Unstructured) Members {
	found := Members{Live: map[object.ID]*unstructured.Unstructured{}, Unknown: map[schema.GroupKind]error{}}
	for _, gk := range s.UnservedKinds() {
		if !s.absentKinds[gk] {
			found.Unknown[gk] = errors.New("the API server does not serve its kind now")
		}
	}
	for _, obj := range objects {
		found.add(s, obj)
	}
	slices.SortFunc(found.Unverified, func(a, b UnverifiedMember) int { return object.Compare(a.ID, b.ID) })
	return found
}
