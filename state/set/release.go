package set

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// Release removes an object from the set: the label of the set, its field manager and
// the fingerprint go, so that another set, or none, takes the object without a conflict.
// An object that does not exist, or is no member, is left as it is.
func (s *Set) Release(ctx context.Context, id object.ID) error { return s.release(ctx, id, "", "") }

// GiveBack releases an object that a run adopted. A former member of another set
// returns to that set, which then owns the applied fields.
func (s *Set) GiveBack(ctx context.Context, a history.Adopted) error {
	if a.Set == "" || len(a.Managers) == 0 {
		return s.release(ctx, a.ID, "", "")
	}
	return s.release(ctx, a.ID, a.Set, a.Managers[0])
}

func (s *Set) release(ctx context.Context, id object.ID, owner, manager string) error {
	gk := schema.GroupKind{Group: id.Group, Kind: id.Kind}
	var answer error // of the last version that was tried
	err := kube.ReadServed(ctx, s.cluster, gk, func(_ schema.GroupVersionKind, kind kube.Kind) error {
		answer = retryOnConflict(ctx, func() error { return s.releaseServed(ctx, kind, id, owner, manager) })
		return answer
	})
	err = cmp.Or(err, answer) // a bare 404 proves nothing about an object that was there
	if err = ignoreGone(err); err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

// releaseServed releases an object, as it is served now.
func (s *Set) releaseServed(ctx context.Context, kind kube.Kind, id object.ID, owner, manager string) error {
	live, err := s.cluster.Get(ctx, kind, id.Namespace, id.Name)
	if err != nil || applyset.Owner(live) != s.Parent.SetID() {
		return err
	}
	released, err := s.cluster.Release(ctx, kind, live, owner, s.Parent.Released(live, manager), manager)
	if err != nil || owner == "" {
		return err
	}
	// The PATCH counts as an update, which takes the label from all that applied it.
	entries := applyset.WithLabelOf(released.GetManagedFields(), live.GetAPIVersion(), manager)
	return s.cluster.SetManagedFields(ctx, kind, released, entries, manager)
}
