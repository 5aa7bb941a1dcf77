package state

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// View is what one watch is to look at.
type View struct {
	Kind      apply.Kind
	Namespace string // "" for all of them
	Query     apply.Query
}

// ParentView shows the parent of the set.
func (s *Set) ParentView() View {
	return View{Kind: s.kind, Namespace: s.Parent.ID.Namespace, Query: apply.Query{Fields: "metadata.name=" + s.Parent.ID.Name}}
}

// View shows the revision that was deployed last and the one whose run goes on,
// and so whenever a revision is stored or gets another status.
func (h History) View() View {
	labels := fmt.Sprintf("%s=%s,%s in (%s,%s)", setLabel, h.Parent.SetID(), statusLabel, Pending, Deployed)
	return View{Kind: secretKind(), Namespace: h.namespace(), Query: apply.Query{Labels: labels}}
}

// MemberViews show all that carries the label of the set, wherever it promises
// that something may be: one for each kind, in the set's namespace where it has
// but one, else in all.
func (s *Set) MemberViews() []View {
	var views []View
	namespaces := s.namespaces()
	for _, gk := range s.Parent.Kinds {
		gvk, ok := s.served(gk)
		if !ok {
			continue
		}
		kind, _ := s.cluster.Kind(gvk)
		view := View{Kind: kind, Query: apply.Query{Labels: applyset.PartOfLabel + "=" + s.Parent.SetID()}}
		switch {
		case s.silent || !kind.Namespaced || len(namespaces) > 1:
			views = append(views, view)
		case len(namespaces) == 1:
			view.Namespace = namespaces[0]
			views = append(views, view)
		}
	}
	return views
}

// Apart are the views of single namespaces that stand for one of all namespaces,
// for whoever may not see all of them; none for any other view.
func (s *Set) Apart(v View) []View {
	if !v.Kind.Namespaced || v.Namespace != "" {
		return nil
	}
	var views []View
	for _, namespace := range s.namespaces() {
		v.Namespace = namespace
		views = append(views, v)
	}
	return views
}

// Unserved are the kinds of the set that no view shows: discovery does not list
// them, or what serves them does not answer.
func (s *Set) Unserved() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, gk := range s.Parent.Kinds {
		if _, ok := s.served(gk); !ok {
			kinds = append(kinds, gk)
		}
	}
	return kinds
}

// Sift tells which of the objects that carry the label of the set are its
// members, as WholeMembers does. It makes no request: a kind that is not served is
// gone if the last call of WholeMembers proved it.
func (s *Set) Sift(objects []*unstructured.Unstructured) Members {
	found := Members{Live: map[object.ID]*unstructured.Unstructured{}, Unknown: map[schema.GroupKind]error{}}
	for _, gk := range s.Unserved() {
		if !s.gone[gk] {
			found.Unknown[gk] = errors.New("the API server does not serve its kind now")
		}
	}
	for _, obj := range objects {
		found.add(s, obj)
	}
	slices.SortFunc(found.Strangers, func(a, b Stranger) int { return object.Compare(a.ID, b.ID) })
	return found
}
