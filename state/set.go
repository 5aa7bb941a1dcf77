package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Set is an apply set (KEP-3659) that a run has opened. Its Parent is the one
// on the cluster as it was last read or written.
type Set struct {
	Parent applyset.Parent // with what was added or recovered since

	cluster       Cluster
	kind          kube.Kind // of the parent
	version       string    // of the parent's kind
	exists        bool
	parentVersion readVersion // the parent, as it was last read or written
	// otherTool is set for a set of another tool. Its members are those that
	// the tool labelled; members of our own sets are those that the set's
	// field managers labelled.
	otherTool bool
	// missingGroupKinds is set when the parent does not list the kinds of the members;
	// search then finds them.
	missingGroupKinds bool
	// recordsNamespace is the namespace of the Lease and the history of a set with a
	// cluster-scoped parent.
	recordsNamespace string
	// parentDeleted is set when the parent was deleted by hand, edited when it was
	// changed, and outdated when it is older than the newest revision; see
	// Recover. digest is the parent's digest annotation. number is the
	// parent's revision number, and revision the number for its next write;
	// see numberAnnotation. past is the metadata of the history.
	parentDeleted, parentEdited, parentOutdated bool
	digest                                      string
	number, revision                            int
	historyIndex                                *historyIndex
	// absentKinds are the kinds that were proven to have no objects when the members
	// were listed last.
	absentKinds map[schema.GroupKind]bool
}

// Open reads the parent of a set, which need not exist; gvk is its kind. It returns
// an error for a parent of another tool, unless takeOver is set, for an object
// that is used for something else, and when the API server does not serve gvk.
func Open(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind, id object.ID, takeOver bool) (*Set, error) {
	kind, served := cluster.Kind(gvk)
	if !served {
		return nil, fmt.Errorf("apply set %s: the API server does not serve %s", id, gvk.GroupKind())
	}
	s := &Set{cluster: cluster, kind: kind, version: gvk.Version, Parent: applyset.Parent{ID: id}}
	live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	if kube.IsGone(err) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the parent of the apply set: %w", err)
	}
	live.SetGroupVersionKind(gvk)
	if err := s.read(live, takeOver); err != nil {
		return nil, err
	}
	if s.missingGroupKinds = !s.parentEdited && (applyset.MissingGroupKinds(live) || emptied(live)); s.missingGroupKinds {
		err = s.searchMembers(ctx, applyset.Resources(live))
	}
	return s, err
}

// read reads a live parent.
func (s *Set) read(live *unstructured.Unstructured, takeOver bool) error {
	parent, err := s.readContents(live)
	if err != nil {
		return fmt.Errorf("apply set: %w", err)
	}
	if live.GetLabels()[applyset.IDLabel] == "" && plainKind(parent.ID) {
		return fmt.Errorf("%s exists and is not the parent of an apply set: give the set another name", parent.ID)
	}
	s.otherTool = live.GetLabels()[applyset.IDLabel] != "" && !isOurs(parent.Tooling) && !s.parentEdited
	switch tool := parent.Tooling; {
	case s.otherTool && tool == "" && !takeOver:
		return fmt.Errorf("apply set %s does not name the tool that manages it (annotation %s): if no tool does, take it over with --take-over", parent.ID, applyset.ToolingAnnotation)
	case s.otherTool && !takeOver:
		return fmt.Errorf("apply set %s is managed by %s: use that tool, or take the set over with --take-over", parent.ID, tool)
	}
	s.Parent, s.exists, s.recordsNamespace, s.parentVersion = parent, true, live.GetAnnotations()[recordsNamespaceAnnotation], readVersionOf(live)
	return nil
}

// plainKind reports whether a parent's kind is also used for other things.
func plainKind(id object.ID) bool { return id.Group == "" }

func isOurs(tooling string) bool {
	tool, _, _ := strings.Cut(applyset.Tooling, "/")
	name, _, _ := strings.Cut(tooling, "/")
	return name == tool
}

// Exists reports whether the set has a parent on the cluster.
func (s *Set) Exists() bool { return s.exists }

// Widen adds the kinds and namespaces of these members to the set's parent.
// It must precede the first write to any of them, under the set's lock, and writes
// nothing when the parent has them already.
func (s *Set) Widen(ctx context.Context, members []object.ID) error {
	return s.updateContents(ctx, s.Parent.WithMembers(members))
}

// Narrow reduces the parent's kinds and namespaces to those of these members,
// once all others are gone. Unknown kinds are kept, with all namespaces of
// the set.
func (s *Set) Narrow(ctx context.Context, members []object.ID, unknown map[schema.GroupKind]error) error {
	return s.updateContents(ctx, s.narrowed(members, unknown))
}

func (s *Set) narrowed(members []object.ID, unknown map[schema.GroupKind]error) applyset.Parent {
	next := s.Parent.ForMembers(members)
	if len(unknown) > 0 {
		next = next.WithKindsAndNamespaces(slices.Collect(maps.Keys(unknown)), s.Parent.Namespaces)
	}
	return next
}

// removeKind removes a kind without members from the set.
func (s *Set) removeKind(ctx context.Context, gk schema.GroupKind) error {
	next := s.Parent
	next.Kinds = slices.DeleteFunc(slices.Clone(next.Kinds), func(k schema.GroupKind) bool { return k == gk })
	if !s.exists { // a lost parent is not written only to be deleted
		s.Parent = next
		return nil
	}
	return s.updateContents(ctx, next)
}

func (s *Set) updateContents(ctx context.Context, next applyset.Parent) error {
	next.Tooling = applyset.Tooling
	if s.hasContents(next) {
		return nil
	}
	return s.write(ctx, next)
}

// hasContents reports whether the parent on the cluster is exactly next.
func (s *Set) hasContents(next applyset.Parent) bool {
	asWritten := s.exists && !s.missingGroupKinds && !s.parentEdited && !s.parentOutdated && s.digest != "" && s.number != 0
	return asWritten && next.Equal(s.Parent)
}

// coveringNumber returns the parent's number when it already covers these members; 0
// when Widen is going to write it.
func (s *Set) coveringNumber(members []object.ID) int {
	next := s.Parent.WithMembers(members)
	next.Tooling = applyset.Tooling
	if s.hasContents(next) {
		return s.number
	}
	return 0
}
