package history

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Drop deletes all revisions, also unreadable ones, and returns the notes on Secrets
// that look like some. before is the index that was read under the same lock, nil without one: the list
// has what that had, but need not be newer, so the API server answers at once, also right after writes.
func (h History) Drop(ctx context.Context, before *Index) ([]string, error) {
	notOlderThan := ""
	if before != nil {
		notOlderThan = before.version
	}
	secrets, err := h.records(ctx, notOlderThan)
	if err != nil {
		return nil, err
	}
	var stored Index
	for _, secret := range secrets {
		if !h.counts(secret) {
			stored.ignore(secret)
			continue
		}
		if e, err := readEntry(secret); err == nil {
			if err := h.forgetValues(ctx, e); err != nil {
				return nil, err
			}
		}
		if err := h.remove(ctx, secret); err != nil {
			return nil, err
		}
	}
	return stored.Unvouched(), nil
}

// cleanUp deletes chunks that a killed run left without a head, and marks
// pending revisions of killed runs as failed.
func (h History) cleanUp(ctx context.Context, s Index) error {
	for i := range s.entries {
		if e := &s.entries[i]; e.Status == Pending {
			if err := h.mark(ctx, e, Failed); err != nil {
				return err
			}
		}
	}
	for n, chunks := range s.chunks {
		if slices.ContainsFunc(s.entries, func(e Entry) bool { return e.Number == n }) {
			continue
		}
		for _, chunk := range chunks {
			if err := h.remove(ctx, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// trim deletes the oldest revisions over the limit, each head before its
// chunks.
func (h History) trim(ctx context.Context, s Index) error {
	last := -1 // the one that was deployed last
	for i, e := range s.entries {
		if e.Status == Deployed {
			last = i
		}
	}
	for i, e := range s.entries[:max(0, len(s.entries)-h.limit())] {
		if i == last {
			continue
		}
		if err := h.handDown(ctx, e, s.entries[i+1:]); err != nil {
			return err
		}
		if err := h.removeRevision(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// limit returns the number of revisions to keep.
func (h History) limit() int {
	if h.Limit <= 0 {
		return DefaultLimit
	}
	return h.Limit
}

// handDown makes the parent list resources of a revision that the next newer one lacks,
// unless a newer run pruned them. It comes before the revision is deleted, which may be the
// last one that contains these members.
func (h History) handDown(ctx context.Context, e Entry, newer []Entry) error {
	if h.Remember == nil || slices.ContainsFunc(newer, func(e Entry) bool { return e.Record().Pruned }) {
		return nil
	}
	contains := func(e Entry) (map[object.ID]bool, error) {
		r, err := h.read(ctx, e)
		if isDamaged(err) || isUnvouched(err) || errors.Is(err, errGone) {
			return nil, nil // it says nothing of members now either
		}
		return r.IDs(), err
	}
	ids, err := contains(e)
	if err == nil && len(newer) > 0 {
		var next map[object.ID]bool
		next, err = contains(newer[0])
		maps.DeleteFunc(ids, func(id object.ID, _ bool) bool { return next[id] })
	}
	if err != nil || len(ids) == 0 {
		return err
	}
	return h.Remember(ctx, slices.Collect(maps.Keys(ids)))
}

// removeRevision deletes a revision, the head before its chunks.
func (h History) removeRevision(ctx context.Context, s Index, e Entry) error {
	if err := h.forgetValues(ctx, e); err != nil {
		return err
	}
	for _, secret := range append([]*unstructured.Unstructured{e.head}, s.chunks[e.Number]...) {
		if err := h.remove(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes one Secret, if it still exists.
func (h History) remove(ctx context.Context, secret *unstructured.Unstructured) error {
	if err := h.Cluster.Delete(ctx, kube.CoreKind("secrets"), secret, kube.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return h.wrapError("delete Secret "+secret.GetName(), err)
	}
	return nil
}
