package set

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// search is the query of a search through kinds that the user did not name.
func search() kube.Query { return kube.Query{Metadata: true, Quiet: true} }

// searchMembers finds the members of a set whose parent does not list their kinds:
// among the given resources, or, if there are none, among all kinds that can
// be listed. It sets the set's kinds and namespaces to the members'.
func (s *Set) searchMembers(ctx context.Context, resources []string) error {
	if err := kube.CheckDiscovery(ctx, s.cluster); err != nil {
		return s.searchError(err)
	}
	s.Parent.Kinds = nil
	for _, gvk := range s.cluster.StoredKinds() {
		kind, _ := s.cluster.Kind(gvk)
		if len(resources) == 0 || slices.Contains(resources, kind.Resource.GroupResource().String()) {
			s.Parent.Kinds = append(s.Parent.Kinds, gvk.GroupKind())
		}
	}
	s.Parent = s.Parent.WithMembers(nil) // sorts the kinds
	members, err := s.members(ctx, search())
	if err == nil {
		err = members.CheckListable("run this again")
	}
	if err != nil {
		return s.searchError(err)
	}
	s.Parent.Kinds = []schema.GroupKind{}
	s.Parent = s.Parent.WithMembers(slices.Collect(maps.Keys(members.Live))).WithMembers(members.PossibleMembers())
	return nil
}

// FindLost looks for members of a set that has neither a parent nor a history, as after
// its namespace was deleted: members that are cluster-scoped, or in another namespace,
// live on. Members found give the set its kinds and namespaces. See StartFindLost.
func (s *Set) FindLost(ctx context.Context, sent ...object.ID) { s.StartFindLost(ctx, sent...)() }

// StartFindLost starts FindLost, and returns a function that waits for its end and gives the set
// what it found; until then the set is not changed. It sends one LIST by label for each kind, of
// metadata, to the caches of the API server: lost members are older than the loss of their records, and
// those that are found are looked for in the present state again. sent are members that the caller has
// just applied, which prove nothing. For an account that may not list all kinds it finds nothing.
func (s *Set) StartFindLost(ctx context.Context, sent ...object.ID) (finish func()) {
	probing := *s
	search := activity.InBackground(func() (Set, error) {
		probing.findLost(ctx, sent)
		return probing, nil
	})
	return func() {
		probe, _ := search()
		s.damage, s.Parent, s.emptyKinds = probe.damage, probe.Parent, probe.emptyKinds
	}
}

func (s *Set) findLost(ctx context.Context, sent []object.ID) {
	everything := kube.Permission{Verb: "list", Resource: schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}}
	if all, err := s.cluster.Allowed(ctx, everything); err != nil || !all {
		return
	}
	probe := *s
	probe.missingGroupKinds, probe.Parent.Kinds = true, nil
	for _, gvk := range s.cluster.StoredKinds() {
		if gvk.Kind != "Event" && gvk.Kind != "Endpoints" { // Kubernetes makes these; listing Endpoints is deprecated
			probe.Parent.Kinds = append(probe.Parent.Kinds, gvk.GroupKind())
		}
	}
	look := func(query kube.Query) (Members, error) {
		found, err := probe.members(ctx, query)
		for _, id := range sent {
			delete(found.Live, id)
		}
		return found, err
	}
	cached := search()
	cached.NotOlderThan = kube.AnyState
	found, err := look(cached)
	if len(found.Live)+len(found.Unverified) > 0 { // unless the API server does not know yet that they were deleted
		found, err = look(search())
	}
	if err == nil && len(found.Live)+len(found.Unknown)+len(found.Unverified) == 0 {
		s.emptyKinds = probe.Parent.Kinds
	}
	if len(found.Live) > 0 {
		s.damage, s.Parent = recordsLost, s.Parent.WithMembers(slices.Collect(maps.Keys(found.Live)))
	}
}

// WasEmpty reports whether FindLost proved that no object of the kinds of these resources carried
// the label of the set.
func (s *Set) WasEmpty(resources []object.ID) bool {
	return s.emptyKinds != nil && !slices.ContainsFunc(resources, func(id object.ID) bool {
		return !slices.Contains(s.emptyKinds, schema.GroupKind{Group: id.Group, Kind: id.Kind})
	})
}

func (s *Set) searchError(why error) error {
	return fmt.Errorf("%s does not list the kinds of its members, and listing all kinds failed: run this with an account that may list all kinds, or set the annotation (kubectl annotate … %s=Deployment.apps,ConfigMap): %w", s.Parent.ID, applyset.GroupKindsAnnotation, why)
}
