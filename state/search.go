package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
)

// search finds the members of a set whose parent does not say of which kinds
// they are: among those of some resources, or, where none are named, among all
// that can be listed. From then on the set promises what was found.
func (s *Set) search(ctx context.Context, resources []string) error {
	if err := apply.CompleteDiscovery(ctx, s.cluster); err != nil {
		return s.unsearchable(err)
	}
	s.Parent.Kinds = nil
	for _, gvk := range s.cluster.StoredKinds() {
		kind, _ := s.cluster.Kind(gvk)
		if len(resources) == 0 || slices.Contains(resources, kind.Resource.GroupResource().String()) {
			s.Parent.Kinds = append(s.Parent.Kinds, gvk.GroupKind())
		}
	}
	s.Parent = s.Parent.Widened(nil) // sorted
	members, err := s.Members(ctx)
	if err == nil {
		err = members.answering("run this again")
	}
	if err != nil {
		return s.unsearchable(err)
	}
	s.Parent.Kinds = []schema.GroupKind{}
	s.Parent = s.Parent.Widened(slices.Collect(maps.Keys(members.Live))).Widened(members.doubtful())
	return nil
}

func (s *Set) unsearchable(why error) error {
	return fmt.Errorf("%s does not say of which kinds the members of its apply set are, and they cannot be looked for among all kinds: let somebody run this who may list them all, or say it (kubectl annotate … %s=Deployment.apps,ConfigMap): %w", s.Parent.ID, applyset.GroupKindsAnnotation, why)
}
