package apply

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/readiness"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/kube"
)

// recreate deletes a live object to create it again, if its manifest allows
// that. It reports whether it handled the error.
func (r *run) recreate(i int, fields []string) bool {
	s := &r.steps[i]
	if len(fields) == 0 {
		return false
	}
	if !invalid.MayRecreate(s.manifest) || r.applier.DryRun {
		r.fail(i, Failed, invalid.ImmutableError(fields, s.ID.Kind))
		return true
	}
	s.immutableFields = fields
	r.move(i, Applying, "deleting it to recreate it: "+invalid.JoinFields(fields)+" cannot be changed")
	r.send(sending.Delete, i)
	return true
}

// handleRecreateDelete waits until the deleted object is gone, and then applies it again.
func (r *run) handleRecreateDelete(answer reply) {
	i := answer.step
	switch err := answer.err; {
	case err == nil, kubeerr.IsMissing(err):
	case errors.As(err, &sending.RecreateError{}):
		r.fail(i, Failed, err)
		return
	case apierrors.IsConflict(err): // another object has the name by now
		r.send(sending.Patch, i)
		return
	case kubeerr.RetryBudget(err) > 0:
		r.retryOrFail(i, answer)
		return
	default:
		r.fail(i, Failed, fmt.Errorf("delete it to recreate it: %w", err))
		return
	}
	s := &r.steps[i]
	s.terminating = true
	if answer.live == nil {
		r.handleGone(i)
		return
	}
	s.applied = readiness.Identity{UID: string(answer.live.GetUID())}
	r.updateWatchLabel(i, answer.live)
	r.move(i, Applying, "waiting until the old object is gone"+kube.DeletionBlockers(answer.live))
	r.watch(i)
}
