package connect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// Set is an apply set that some tool keeps.
type Set struct {
	Parent applyset.Parent
	Newest *Entry // nil if the set has no history: another tool keeps it, or it was never applied
}

// Entry is a revision as a listing has it.
type Entry = history.Entry

// SetReader is a cluster for ListSets.
type SetReader interface {
	history.Lister
	kube.Discovery
}

// ListSets returns the apply sets whose parents are in a namespace or cluster-scoped, or
// all for "", by namespace and name. Kinds that may not be listed are left out, and notes
// say so. It is an error if no kind may be listed.
func ListSets(ctx context.Context, cluster SetReader, namespace string) (sets []Set, notes []string, err error) {
	newest, err := history.NewestOfAll(ctx, cluster, namespace)
	if err != nil {
		return nil, nil, err
	}
	kinds, notes, err := parentKinds(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	for _, gvk := range kinds {
		found, faults, err := find(ctx, cluster, gvk, namespace, "")
		switch {
		case apierrors.IsForbidden(err):
			notes = append(notes, fmt.Sprintf("you may not list %s objects: apply sets with such a parent are left out", gvk.GroupKind()))
		case err != nil:
			return nil, nil, fmt.Errorf("list %s objects that are parents of apply sets: %w", gvk.GroupKind(), err)
		}
		sets, notes = append(sets, found...), append(notes, faults...)
	}
	for i := range sets {
		if e, known := newest[sets[i].Parent.SetID()]; known {
			sets[i].Newest = &e
		}
	}
	slices.SortFunc(sets, func(a, b Set) int {
		x, y := a.Parent.ID, b.Parent.ID
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), object.Compare(x, y))
	})
	return sets, notes, nil
}

// find lists the parents of a kind that match a field selector. An object with the ID of another
// set is none, and a note names it: its label was copied or edited.
func find(ctx context.Context, cluster SetReader, gvk schema.GroupVersionKind, namespace, fields string) (sets []Set, notes []string, err error) {
	kind, served := cluster.Kind(gvk)
	if !served {
		return nil, nil, nil
	}
	if !kind.Namespaced {
		namespace = ""
	}
	parents, err := cluster.List(ctx, kind, namespace, kube.Query{Labels: applyset.IDLabel, Fields: fields, Metadata: true})
	for _, live := range parents {
		live.SetGroupVersionKind(gvk)
		p, fault := applyset.ReadParent(live) // of a damaged one, the readable part
		if fault != nil {
			notes = append(notes, fault.Error())
		}
		if live.GetLabels()[applyset.IDLabel] == p.SetID() {
			sets = append(sets, Set{Parent: p})
		}
	}
	return sets, notes, err
}

// parentKinds returns the kinds whose objects may be parents.
func parentKinds(ctx context.Context, cluster SetReader) (kinds []schema.GroupVersionKind, notes []string, err error) {
	kinds = []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"}}
	definitions, err := cluster.List(ctx, kube.DefinitionKind("customresourcedefinitions"), "", kube.Query{Labels: set.ParentTypeLabel + "=true"})
	switch {
	case apierrors.IsForbidden(err):
		return kinds, []string{"you may not list customresourcedefinitions: apply sets with a parent of a custom kind are left out"}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("list the kinds of apply sets' parents: %w", err)
	}
	for _, definition := range definitions {
		for _, gvk := range kube.DefinedKinds(definition) {
			if _, served := cluster.Kind(gvk); served {
				kinds = append(kinds, gvk)
				break
			}
		}
	}
	return kinds, nil, nil
}
