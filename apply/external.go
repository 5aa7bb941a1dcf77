package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/ordering"
)

// newExternals returns the objects outside the stream that steps wait for: none yet.
func (r *run) newExternals() *wait.Externals {
	return wait.NewExternals(&r.Loop, r.applier.Cluster, r.judge(), wait.ExternalRun{
		OnChange: r.onExternalChange,
		OnForbidden: func(i int, err error) {
			if !r.steps[i].state.Final() {
				r.fail(i, event.Failed, err)
			}
		},
	})
}

// awaitExternals makes a step wait for its dependencies outside the stream.
// It returns false when all of them are met.
func (r *run) awaitExternals(i int) bool {
	s := &r.steps[i]
	if r.applier.DryRun || len(s.External) == 0 {
		return false
	}
	r.move(i, event.Applying, "")
	for _, need := range s.External {
		o := r.externals.Get(need.ID)
		if o == nil {
			if o = r.watchExternal(i, need); o == nil {
				return true // waits for its kind, or failed
			}
		}
		if !o.Passed(need.Gate) {
			o.AddWaiter(i)
			r.wait(i, event.Applying, event.WaitExternal, o.Detail(need))
			return true
		}
	}
	return false
}

// watchExternal starts to watch an object outside the stream. It returns nil
// when the step must wait for the kind to be served, or has failed.
func (r *run) watchExternal(i int, need ordering.Need) *wait.External {
	gvk := schema.GroupVersionKind{Group: need.ID.Group, Kind: need.ID.Kind}
	kind, served := r.kind(gvk)
	if !served {
		r.waitForKinds(i, gvk)
		return nil
	}
	o, err := r.externals.Watch(need, kind)
	if err != nil {
		r.fail(i, event.Failed, err)
	}
	return o
}

// onExternalChange starts the steps that waited for an object outside the stream.
func (r *run) onExternalChange(waiters []int, wasUnready bool) {
	if wasUnready {
		r.invalidateReads()
	}
	for _, i := range waiters {
		if wasUnready {
			r.requireFreshRead(i)
		}
		r.restart(i)
	}
}
