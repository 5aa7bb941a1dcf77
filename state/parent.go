package state

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
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
)

// The parent is written only as it was read last. A write of a run that lost its
// lock may arrive late; it changes nothing once another run has written the parent,
// or has deleted it. Server-side apply has no way to say that an object must not be
// there: the write that makes the parent is the only one that is not bound.

// readVersion is the uid and the resourceVersion of an object that was read; zero
// when there was none.
type readVersion struct {
	uid     types.UID
	version string
}

func readVersionOf(live *unstructured.Unstructured) readVersion {
	return readVersion{live.GetUID(), live.GetResourceVersion()}
}

// writeAttempts is how often a parent is read and sent again while others change it.
const writeAttempts = 8

// write stores what the parent says. Its fields are ours even where another
// tool wrote them last: it was asked before, by Open. Where the parent is no longer
// as it was read, it is read and sent again: we have the lock, so that only others
// than runs of ordapply should have changed it.
func (s *Set) write(ctx context.Context, next applyset.Parent) error {
	options := apply.PatchOptions{Manager: next.Manager("ordapply"), Force: true}
	for n := 1; ; n++ {
		live, err := s.cluster.Apply(ctx, s.kind, s.manifest(next), options)
		if err == nil {
			s.wrote(next, live)
			return nil
		}
		if s.readAt == (readVersion{}) || !apierrors.IsConflict(err) || n == writeAttempts {
			return s.unwritten(err)
		}
		if next, err = s.merged(ctx, next); err != nil {
			return s.unwritten(err)
		}
		select {
		case <-ctx.Done():
			return s.unwritten(context.Cause(ctx))
		case <-time.After(time.Duration(n-1) * 100 * time.Millisecond):
		}
	}
}

func (s *Set) unwritten(err error) error {
	return fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
}

// manifest is what is sent of a parent.
func (s *Set) manifest(next applyset.Parent) *unstructured.Unstructured {
	parent := &unstructured.Unstructured{}
	parent.SetGroupVersionKind(schema.GroupVersionKind{Group: next.ID.Group, Version: s.version, Kind: next.ID.Kind})
	parent.SetNamespace(next.ID.Namespace)
	parent.SetName(next.ID.Name)
	parent.SetLabels(map[string]string{applyset.IDLabel: next.SetID()})
	annotations := next.Annotations()
	if isOurs(next.Tooling) {
		annotations[digestAnnotation] = contentsDigest(next)
		if n := s.nextNumber(); n != 0 {
			annotations[numberAnnotation] = strconv.Itoa(n)
		}
	}
	if next.ID.Namespace == "" && s.home != "" {
		annotations[homeAnnotation] = s.home
	}
	parent.SetAnnotations(annotations)
	if s.readAt != (readVersion{}) {
		parent.SetUID(s.readAt.uid)
		parent.SetResourceVersion(s.readAt.version)
	}
	return parent
}

// wrote notes that the parent is as the API server answered.
func (s *Set) wrote(next applyset.Parent, live *unstructured.Unstructured) {
	s.Parent, s.exists, s.foreign, s.silent = next, true, !isOurs(next.Tooling), false
	s.lost, s.edited, s.outdated, s.digest, s.readAt = false, false, false, "", readVersionOf(live)
	if isOurs(next.Tooling) {
		s.digest, s.number = contentsDigest(next), s.nextNumber()
	}
}

// merged reads a parent that was changed since it was read last. What it is to say
// then includes what was added to it meanwhile.
func (s *Set) merged(ctx context.Context, next applyset.Parent) (applyset.Parent, error) {
	live, err := s.cluster.Get(ctx, s.kind, next.ID.Namespace, next.ID.Name)
	if apply.IsGone(err) {
		s.exists, s.readAt = false, readVersion{}
		return next, nil
	}
	if err != nil {
		return next, err
	}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: next.ID.Group, Version: s.version, Kind: next.ID.Kind})
	now, err := applyset.ReadParent(live)
	if err != nil {
		return next, fmt.Errorf("it was changed meanwhile: %w", err)
	}
	if now.Tooling != s.Parent.Tooling && !isOurs(now.Tooling) && now.Tooling != "" {
		return next, fmt.Errorf("%s took it over meanwhile: go on with that tool, or run this again with --take-over", now.Tooling)
	}
	if home := live.GetAnnotations()[homeAnnotation]; home != s.home && s.home != "" && home != "" {
		return next, errors.New("its annotation " + homeAnnotation + " was changed meanwhile: run this again")
	}
	s.readAt = readVersionOf(live)
	return next.WidenedTo(added(s.Parent.Kinds, now.Kinds), added(s.Parent.Namespaces, now.Namespaces)), nil
}

// added are the items of now that before does not hold.
func added[T comparable](before, now []T) []T {
	return slices.DeleteFunc(slices.Clone(now), func(item T) bool { return slices.Contains(before, item) })
}

// Drop deletes the parent, as it is read right before. Nothing may be left that says
// it is a member.
func (s *Set) Drop(ctx context.Context) error {
	for n := 1; ; n++ {
		live, err := s.cluster.Get(ctx, s.kind, s.Parent.ID.Namespace, s.Parent.ID.Name)
		if err == nil {
			err = s.cluster.Delete(ctx, s.kind, live, apply.DeleteOptions{Unchanged: true})
		}
		if err == nil || apply.IsGone(err) {
			s.exists, s.readAt = false, readVersion{}
			return nil
		}
		if !apierrors.IsConflict(err) || n == writeAttempts {
			return fmt.Errorf("delete the parent of apply set %s: %w", s.Parent.ID, err)
		}
	}
}
