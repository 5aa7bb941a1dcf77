package set

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The home of a set is the namespace of its Lease and its history. It is the
// namespace of its parent; a cluster-scoped parent names it in an annotation,
// so that all runs on the set use the same Lease. The annotation is written once, and
// replaced only when the home is gone.

// RecordsNamespaceAnnotation is that annotation.
const RecordsNamespaceAnnotation = "ordapply.dev/home"

// RecordsNamespace returns the namespace in which a set with a cluster-scoped parent
// keeps its Lease and its history; "" when there is no such set yet, or it names
// none.
func RecordsNamespace(ctx context.Context, cluster kube.Cluster, gvk schema.GroupVersionKind, id object.ID) (string, error) {
	kind, _ := cluster.Kind(gvk)
	live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	if kube.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the parent of the apply set: %w", err)
	}
	return live.GetAnnotations()[RecordsNamespaceAnnotation], nil
}

// ClaimRecordsNamespace gives a set with a cluster-scoped parent a home, if it has none,
// and returns the home it has then, which another run may have claimed first. Each home
// has its own field manager, so that concurrent claims conflict and only one succeeds. A
// create would do the same, but RBAC cannot restrict create to a single name.
func (s *Set) ClaimRecordsNamespace(ctx context.Context, home string) (string, error) {
	claim := s.claim(home)
	options := kube.PatchOptions{Manager: s.homeManager(home)}
	var live *unstructured.Unstructured
	claimed := home
	err := retryOnConflict(ctx, func() (err error) {
		live, err = s.cluster.Get(ctx, s.kind, "", s.Parent.ID.Name)
		switch {
		case kube.IsGone(err):
			_, err = s.cluster.Apply(ctx, s.kind, claim, options)
		case err == nil && live.GetAnnotations()[RecordsNamespaceAnnotation] != "":
			claimed = live.GetAnnotations()[RecordsNamespaceAnnotation]
		case err == nil:
			versioned := claim.DeepCopy()
			versioned.SetResourceVersion(live.GetResourceVersion())
			_, err = s.cluster.Apply(ctx, s.kind, versioned, options)
		}
		return err
	})
	if err != nil {
		return "", s.claimError(live, home, err)
	}
	return claimed, nil
}

// ReplaceRecordsNamespace gives a set with a cluster-scoped parent another home, if it
// still has the old one, and returns the home it has then. The old one must not exist
// any more.
func (s *Set) ReplaceRecordsNamespace(ctx context.Context, old, home string) (string, error) {
	claimed := home
	err := retryOnConflict(ctx, func() error {
		live, err := s.cluster.Get(ctx, s.kind, "", s.Parent.ID.Name)
		if err != nil {
			return err
		}
		if now := live.GetAnnotations()[RecordsNamespaceAnnotation]; now != old {
			claimed = now
			return nil
		}
		claim := s.claim(home)
		claim.SetResourceVersion(live.GetResourceVersion())
		_, err = s.cluster.Apply(ctx, s.kind, claim, kube.PatchOptions{Manager: s.homeManager(home), Force: true})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
	}
	s.recordsNamespace = claimed
	return claimed, nil
}

// claim returns the parent with nothing but a home.
func (s *Set) claim(home string) *unstructured.Unstructured {
	claim := &unstructured.Unstructured{}
	claim.SetGroupVersionKind(schema.GroupVersionKind{Group: s.Parent.ID.Group, Version: s.version, Kind: s.Parent.ID.Kind})
	claim.SetName(s.Parent.ID.Name)
	claim.SetAnnotations(map[string]string{RecordsNamespaceAnnotation: home})
	return claim
}

// homeManager returns the field manager that claims a home.
func (s *Set) homeManager(home string) string { return s.Parent.Manager("ordapply") + "@" + home }

// Home returns the home that a cluster-scoped parent names; "" if it names none.
func (s *Set) Home() string { return s.recordsNamespace }

// claimError returns why a set got no home. Where its annotation exists and is
// empty, another field manager owns it and no run can set it; the error names
// the remedy.
func (s *Set) claimError(live *unstructured.Unstructured, home string, err error) error {
	err = fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
	if live == nil {
		return err
	}
	if value, there := live.GetAnnotations()[RecordsNamespaceAnnotation]; there && value == "" {
		resource := s.kind.Resource.GroupResource()
		err = fmt.Errorf("%w; its annotation %s is empty and owned by another field manager: set it to the namespace of the set's Lease and history (kubectl annotate %s %s %s=%s --overwrite), then run this again",
			err, RecordsNamespaceAnnotation, resource, s.Parent.ID.Name, RecordsNamespaceAnnotation, home)
	}
	return err
}

// CheckRecordsNamespace returns an error when a set's home is not the one whose lock this
// run holds.
func (s *Set) CheckRecordsNamespace(home string) error {
	if s.recordsNamespace == "" || s.recordsNamespace == home {
		return nil
	}
	return fmt.Errorf("apply set %s was created in the meantime and is stored in namespace %q, not in %q: run this again", s.Parent.ID, s.recordsNamespace, home)
}
