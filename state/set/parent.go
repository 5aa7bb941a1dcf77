package set

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/history"
)

// Every write of the parent has the uid and resourceVersion of the last read
// as precondition. The write of a run that lost its lock may arrive late; it
// changes nothing once another run has written or deleted the parent.
// Server-side apply cannot require that an object does not exist, so only the
// write that creates the parent has no precondition.

// Write stores the parent. It takes its fields even where another tool wrote
// them last: Open has checked that. After a conflict the parent is read and
// sent again: this run holds the lock, so no other run of ordapply should
// have changed it.
func (s *Set) Write(ctx context.Context, next applyset.Parent) error {
	options := kube.PatchOptions{Manager: next.Manager("ordapply"), Force: true}
	for n := 1; ; n++ {
		live, err := s.cluster.Apply(ctx, s.kind, s.manifest(next), options)
		if err == nil {
			s.recordWrite(next, live)
			return nil
		}
		if s.live.version == (readVersion{}) || !apierrors.IsConflict(err) || n == writeAttempts {
			return s.writeError(err)
		}
		if next, err = s.merged(ctx, next); err != nil {
			return s.writeError(err)
		}
		select {
		case <-ctx.Done():
			return s.writeError(context.Cause(ctx))
		case <-time.After(time.Duration(n-1) * 100 * time.Millisecond):
		}
	}
}

func (s *Set) writeError(err error) error {
	return fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
}

// manifest returns the body of the parent's PATCH.
func (s *Set) manifest(next applyset.Parent) *unstructured.Unstructured {
	parent := &unstructured.Unstructured{}
	parent.SetGroupVersionKind(schema.GroupVersionKind{Group: next.ID.Group, Version: s.version, Kind: next.ID.Kind})
	parent.SetNamespace(next.ID.Namespace)
	parent.SetName(next.ID.Name)
	parent.SetLabels(map[string]string{applyset.IDLabel: next.SetID()})
	annotations := next.Annotations()
	if isOurs(next.Tooling) {
		annotations[DigestAnnotation] = contentsDigest(next)
		if n := s.nextNumber(); n != 0 {
			annotations[NumberAnnotation] = strconv.Itoa(n)
		}
	}
	if text := s.vouchers.Text(); text != "" {
		annotations[history.VouchersAnnotation] = text
	}
	if text := s.former.text(); text != "" {
		annotations[FormerAnnotation] = text
	}
	if text := takenText(s.taken); text != "" {
		annotations[TakenFromAnnotation] = text
	}
	if next.ID.Namespace == "" && s.recordsNamespace != "" {
		annotations[RecordsNamespaceAnnotation] = s.recordsNamespace
	}
	parent.SetAnnotations(annotations)
	if s.live.version != (readVersion{}) {
		parent.SetUID(s.live.version.uid)
		parent.SetResourceVersion(s.live.version.version)
	}
	return parent
}

// recordWrite records the parent as the API server returned it.
func (s *Set) recordWrite(next applyset.Parent, live *unstructured.Unstructured) {
	s.Parent, s.live.exists, s.otherTool, s.missingGroupKinds = next, true, !isOurs(next.Tooling), false
	s.damage, s.live.digest, s.live.version, s.live.former, s.live.taken = undamaged, "", readVersionOf(live), s.former.text(), takenText(s.taken)
	if isOurs(next.Tooling) {
		s.live.digest, s.live.number = contentsDigest(next), s.nextNumber()
	}
}

// merged reads a parent that was changed since the last read, and adds to
// next the kinds and namespaces that were added to it since.
func (s *Set) merged(ctx context.Context, next applyset.Parent) (applyset.Parent, error) {
	live, err := s.cluster.Get(ctx, s.kind, next.ID.Namespace, next.ID.Name)
	if kube.IsGone(err) {
		s.live.exists, s.live.version = false, readVersion{}
		return next, nil
	}
	if err != nil {
		return next, err
	}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: next.ID.Group, Version: s.version, Kind: next.ID.Kind})
	now, err := applyset.ReadParent(live)
	if err != nil {
		return next, fmt.Errorf("it was changed in the meantime: %w", err)
	}
	if now.Tooling != s.Parent.Tooling && !isOurs(now.Tooling) && now.Tooling != "" {
		return next, fmt.Errorf("%s took it over in the meantime: use that tool, or run this again with --take-over", now.Tooling)
	}
	if home := live.GetAnnotations()[RecordsNamespaceAnnotation]; home != s.recordsNamespace && s.recordsNamespace != "" && home != "" {
		return next, errors.New("its annotation " + RecordsNamespaceAnnotation + " was changed in the meantime: run this again")
	}
	s.live.version = readVersionOf(live)
	return next.WithKindsAndNamespaces(added(s.Parent.Kinds, now.Kinds), added(s.Parent.Namespaces, now.Namespaces)), nil
}

// added returns the items of now that before does not have.
func added[T comparable](before, now []T) []T {
	return slices.DeleteFunc(slices.Clone(now), func(item T) bool { return slices.Contains(before, item) })
}

// Delete deletes the parent, with the version that it reads first as
// precondition. A parent that is also used for something else is released instead: it
// loses the set's labels and annotations. The set must have no members left. No parent is no
// error.
func (s *Set) Delete(ctx context.Context) error {
	err := retryOnConflict(ctx, func() error {
		live, err := s.cluster.Get(ctx, s.kind, s.Parent.ID.Namespace, s.Parent.ID.Name)
		if err != nil {
			return err
		}
		if home := live.GetAnnotations()[RecordsNamespaceAnnotation]; home != s.recordsNamespace {
			return fmt.Errorf("another run has moved its lock and its history to namespace %q in the meantime: run this again", home)
		}
		if s.isSharedParent(live) {
			return s.releaseParent(ctx)
		}
		return s.cluster.Delete(ctx, s.kind, live, kube.DeleteOptions{Unchanged: true})
	})
	if err == nil || kube.IsGone(err) {
		s.live.exists, s.live.version = false, readVersion{}
		return nil
	}
	return fmt.Errorf("delete the parent of apply set %s: %w", s.Parent.ID, err)
}
