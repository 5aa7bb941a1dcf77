package preflight

import (
	"context"
	"slices"
	"sync"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// refusals returns the errors of steps whose PATCH the API server refuses because of the live
// object, by position: a field in conflict that the run may not take, and an immutable field of
// an object that it may not recreate. It asks the API server, by dry runs, about the steps alone
// whose objects suggest one of them.
func (c Checks) refusals(ctx context.Context, isChecked func(step int) bool) map[int]error {
	var suspects []int
	for i, read := range c.Reads {
		if isChecked(i) && read.Live.GetDeletionTimestamp() == nil && c.Reader.MayBeRefused(i, read.Live) {
			suspects = append(suspects, i)
		}
	}
	found := map[int]error{}
	var mu sync.Mutex
	activity.Each(len(suspects), c.Reader.Workers, func(n int) {
		err := c.refusalByLive(ctx, suspects[n])
		mu.Lock()
		defer mu.Unlock()
		found[suspects[n]] = err
	})
	return found
}

// refusalByLive returns the error of a step's PATCH about its live object; nil for any other
// error, which the PATCH itself may not meet.
func (c Checks) refusalByLive(ctx context.Context, i int) error {
	manifest, read := c.manifest(i), c.Reads[i]
	kind, served := kube.KindsOf(c.Cluster)(manifest.GroupVersionKind())
	if !served {
		return nil
	}
	owner := c.Reader.Owner
	err := c.Sender.Refusal(ctx, request.Request{
		Kind: kind, Object: manifest, Bodies: c.Reader.Bodies, Options: kube.PatchOptions{Manager: owner.Manager},
		Known: !read.Metadata, Current: read.Live,
	}, owner.FormerSetManagers(read.Live))
	switch fields := write.ImmutableFields(err); {
	case len(fields) > 0:
		// Hooks may delete the object before: charts do that to change such fields.
		if c.mayRecreate(i) || slices.ContainsFunc(c.Plan.Hooks, ordering.PlannedHook.Before) {
			return nil
		}
		return write.ImmutableError(fields, c.Plan.Steps[i].ID.Kind)
	case fault.IsFieldConflict(err):
		return write.ExplainInvalid(redact.Error(manifest, err), c.Plan.Positions().HasNamespace)
	}
	return nil
}

func (c Checks) mayRecreate(i int) bool {
	if c.MayRecreate == nil {
		return write.MayRecreate(c.manifest(i))
	}
	return c.MayRecreate(c.manifest(i))
}
