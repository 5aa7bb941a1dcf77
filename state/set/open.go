package set

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Open reads the parent of a set, which need not exist; gvk is its kind. It returns
// an error for a parent of another tool, unless takeOver is set, for an object
// that is used for something else, and when the API server does not serve gvk.
func Open(ctx context.Context, cluster kube.Cluster, gvk schema.GroupVersionKind, id object.ID, takeOver bool) (*Set, error) {
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
	if s.missingGroupKinds = s.damage != parentEdited && (applyset.MissingGroupKinds(live) || emptied(live)); s.missingGroupKinds {
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
	if live.GetLabels()[applyset.IDLabel] == "" && plainKind(parent.ID) && s.damage != parentEdited {
		return fmt.Errorf("%s exists and is not the parent of an apply set: give the set another name", parent.ID)
	}
	s.otherTool = live.GetLabels()[applyset.IDLabel] != "" && !isOurs(parent.Tooling) && s.damage != parentEdited
	switch tool := parent.Tooling; {
	case s.otherTool && tool == "" && !takeOver:
		return fmt.Errorf("apply set %s does not name the tool that manages it (annotation %s): if no tool does, take it over with --take-over", parent.ID, applyset.ToolingAnnotation)
	case s.otherTool && !takeOver:
		return fmt.Errorf("apply set %s is managed by %s: use that tool, or take the set over with --take-over", parent.ID, tool)
	}
	s.Parent, s.live.exists, s.recordsNamespace, s.live.version = parent, true, live.GetAnnotations()[RecordsNamespaceAnnotation], readVersionOf(live)
	return nil
}
