package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// judge moves a waiting resource by the verdict on its live object.
func (r *run) judge(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	a, again := r.assess(i, live)
	if r.learnFirst(i, live, a) {
		slim(live, s.obj)
		s.last = live
		return
	}
	if !again.IsZero() || a.Undated { // it may be judged again as it stands
		slim(live, s.obj)
	} else {
		slimWorkload(live, s.obj)
	}
	s.last, s.grade = live, a.Grade()
	r.judgeLater(i, again)
	switch a.Verdict {
	case health.Ready:
		r.believe(i, live, a)
	case health.Failed, health.Unknown: // RFC-DEPLOY-0001 §5: unknown counts as failure
		r.fail(i, Failed, errors.New(a.Reason))
	case health.Deleting:
		r.fail(i, Failed, errors.New("somebody deleted it while we waited for it"+HeldBy(live)))
	default:
		s.reason = a.Reason
		r.tellWaiting(i)
	}
}

// believe goes on with an object that says it is ready: a CRD when discovery
// serves its kinds, a webhook configuration when its Services have endpoints.
func (r *run) believe(i int, live *unstructured.Unstructured, a health.Assessment) {
	if kinds := definedKinds(live); len(kinds) > 0 {
		r.awaitKinds(i, kinds...)
		return
	}
	s := &r.steps[i]
	if len(a.Backends) > 0 && !r.a.DryRun {
		s.backends = a.Backends
		r.awaitBackend(i)
		return
	}
	why := ""
	if a.Assumed {
		why, s.assumed = a.Reason, true
	}
	r.ready(i, why)
}
