package apply

import (
	"time"

	"github.com/ordapply/ordapply/internal/kinds"
)

// start sends a resource's PATCH, once its kind is served and its
// dependencies outside the stream are met.
func (r *run) start(i int) {
	s := &r.steps[i]
	if s.state.Final() || r.Stopping {
		return
	}
	if s.startedAt.IsZero() {
		s.startedAt = time.Now()
		r.setTimeouts(i)
	}
	if r.awaitExternals(i) {
		return
	}
	r.setCRDTimeout(i)
	s.Cause = nil
	r.move(i, Applying, "")
	gvk := s.manifest.GroupVersionKind()
	kind, served := r.kind(gvk)
	if !served {
		if r.applier.DryRun && len(s.ProvidedBy) > 0 {
			r.deferred(i, "its "+s.ProvidedBy[0].Kind+" is created earlier in this run")
			return
		}
		r.waitForKinds(i, gvk)
		return
	}
	if kind.Namespaced && s.ID.Namespace == "" {
		r.fail(i, Failed, kinds.MissingNamespace(s.ID.Kind))
		return
	}
	s.kind, s.judged.HasStatus = kind, kind.HasStatus
	r.sendOrSkip(i)
}
