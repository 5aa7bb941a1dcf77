package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// Set is an apply set (KEP-3659) that a run has opened. Its promise on the
// cluster is the one that it had when it was last read or written.
type Set struct {
	Parent applyset.Parent

	cluster Cluster
	kind    apply.Kind // of the parent
	version string     // of the parent's kind
	exists  bool
	readAt  readVersion // of the parent, as it was last read or written
	// foreign is a set that another tool keeps: its members are those that the
	// tool made. Of one of ours they are those that its own field managers made.
	foreign bool
	// silent is a parent that does not say of which kinds the members are; they
	// were looked for, see search.
	silent bool
	// home is the namespace of its Lease and its history, where the parent has
	// none itself.
	home string
	// lost is a parent that was deleted by hand, and edited one that was changed; see
	// Recover. digest is what it says of its own contents.
	// outdated is a parent that is older than the newest revision, whose metadata and
	// that of all others is past. number is the one that the parent carries, and
	// revision the one that it carries when it is written next; see numberAnnotation.
	lost, edited, outdated bool
	digest                 string
	number, revision       int
	past                   *stock
	// gone are the kinds of which nothing can exist, as far as the members were
	// listed.
	gone map[schema.GroupKind]bool
}

// Open reads the parent of a set, which need not be there yet. A parent that
// another tool keeps is refused, unless takeOver says to make it ours.
func Open(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind, id object.ID, takeOver bool) (*Set, error) {
	kind, served := cluster.Kind(gvk)
	if !served {
		return nil, fmt.Errorf("apply set %s: the API server does not serve %s", id, gvk.GroupKind())
	}
	s := &Set{cluster: cluster, kind: kind, version: gvk.Version, Parent: applyset.Parent{ID: id}}
	live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	if apply.IsGone(err) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the parent of the apply set: %w", err)
	}
	live.SetGroupVersionKind(gvk)
	if err := s.read(live, takeOver); err != nil {
		return nil, err
	}
	if s.silent = !s.edited && (applyset.Silent(live) || emptied(live)); s.silent {
		err = s.search(ctx, applyset.Resources(live))
	}
	return s, err
}

// read takes what a live parent says.
func (s *Set) read(live *unstructured.Unstructured, takeOver bool) error {
	parent, err := s.readContents(live)
	if err != nil {
		return fmt.Errorf("apply set: %w", err)
	}
	if live.GetLabels()[applyset.IDLabel] == "" && plainKind(parent.ID) {
		return fmt.Errorf("%s is there and is no parent of an apply set: give the set another name", parent.ID)
	}
	s.foreign = live.GetLabels()[applyset.IDLabel] != "" && !isOurs(parent.Tooling) && !s.edited
	switch tool := parent.Tooling; {
	case s.foreign && tool == "" && !takeOver:
		return fmt.Errorf("apply set %s does not say which tool keeps it (annotation %s): if none does, make it ours with --take-over", parent.ID, applyset.ToolingAnnotation)
	case s.foreign && !takeOver:
		return fmt.Errorf("apply set %s is kept by %s: go on with that tool, or make it ours with --take-over", parent.ID, tool)
	}
	s.Parent, s.exists, s.home, s.readAt = parent, true, live.GetAnnotations()[homeAnnotation], readVersionOf(live)
	return nil
}

// plainKind tells whether a parent is of a kind that people keep other things
// in.
func plainKind(id object.ID) bool { return id.Group == "" }

func isOurs(tooling string) bool {
	tool, _, _ := strings.Cut(applyset.Tooling, "/")
	name, _, _ := strings.Cut(tooling, "/")
	return name == tool
}

// Exists tells whether the set has a parent on the cluster.
func (s *Set) Exists() bool { return s.exists }

// Widen makes the set promise these members too. It comes before the first
// write to any of them, and writes nothing when that is promised already.
func (s *Set) Widen(ctx context.Context, members []object.ID) error {
	return s.promise(ctx, s.Parent.Widened(members))
}

// Narrow makes the set promise these members and no more: after the last of the
// others is gone. Kinds of which nobody can tell may be in any of its namespaces.
func (s *Set) Narrow(ctx context.Context, members []object.ID, unknown map[schema.GroupKind]error) error {
	return s.promise(ctx, s.narrowed(members, unknown))
}

func (s *Set) narrowed(members []object.ID, unknown map[schema.GroupKind]error) applyset.Parent {
	next := s.Parent.Holding(members)
	if len(unknown) > 0 {
		next = next.WidenedTo(slices.Collect(maps.Keys(unknown)), s.Parent.Namespaces)
	}
	return next
}

// forget makes the set promise a kind no longer: nothing of it is left.
func (s *Set) forget(ctx context.Context, gk schema.GroupKind) error {
	next := s.Parent
	next.Kinds = slices.DeleteFunc(slices.Clone(next.Kinds), func(k schema.GroupKind) bool { return k == gk })
	if !s.exists { // a lost parent is not written only to be deleted
		s.Parent = next
		return nil
	}
	return s.promise(ctx, next)
}

func (s *Set) promise(ctx context.Context, next applyset.Parent) error {
	next.Tooling = applyset.Tooling
	if s.promises(next) {
		return nil
	}
	return s.write(ctx, next)
}

// promises reports whether the parent on the cluster says just this.
func (s *Set) promises(next applyset.Parent) bool {
	asWritten := s.exists && !s.silent && !s.edited && !s.outdated && s.digest != "" && s.number != 0
	return asWritten && next.Equal(s.Parent)
}

// keeps is the number that the parent carries when it promises these members
// already; 0 when Widen is going to write it.
func (s *Set) keeps(members []object.ID) int {
	next := s.Parent.Widened(members)
	next.Tooling = applyset.Tooling
	if s.promises(next) {
		return s.number
	}
	return 0
}
