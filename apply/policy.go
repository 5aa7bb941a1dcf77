package apply

import (
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/ordering"
)

// isNotCreated handles a step whose object does not exist, and that a policy forbids to create;
// false when it may be created.
func (r *run) isNotCreated(i int) bool {
	switch policy, why := r.snapshot.Policy(i, nil); policy {
	case applyset.LeaveAlone:
		r.leaveOut(i, "not created: "+why)
	case applyset.MustExist:
		r.awaitExistence(i, "waiting until it exists: "+why)
	default:
		return false
	}
	return true
}

// leaveOut ends a step for which nothing is written. Its dependents do not wait for it.
func (r *run) leaveOut(i int, why string) {
	r.steps[i].unchanged = true
	r.finish(i, event.Applied, why)
	r.pass(i)
	r.onGatePassed(i, ordering.Applied)
	r.onGatePassed(i, ordering.Ready)
}

// awaitExistence reads an object that others create again after a while.
func (r *run) awaitExistence(i int, why string) {
	if r.applier.DryRun {
		r.deferred(i, why)
		return
	}
	r.wait(i, event.Applying, event.WaitExternal, why)
	r.After(loop.PollEvery, func() {
		if r.steps[i].state == event.Applying && !r.Stopping {
			r.invalidateReads()
			r.requireFreshRead(i)
			r.sendOrSkip(i)
		}
	})
}
