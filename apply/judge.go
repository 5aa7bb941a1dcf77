package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/kube"
)

// evaluate moves a waiting resource according to the verdict on its live object.
func (r *run) evaluate(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	a, again := r.assess(i, live)
	if r.awaitColumns(i, live, a) {
		trim(live, s.manifest)
		s.lastSeen = live
		return
	}
	if !again.IsZero() || a.WithoutGeneration { // it may be judged again unchanged
		trim(live, s.manifest)
	} else {
		trimWorkload(live, s.manifest)
	}
	s.lastSeen, s.grade = live, a.Grade()
	r.evaluateAt(i, again)
	switch a.Verdict {
	case health.Ready:
		r.onReady(i, live, a)
	case health.Failed, health.Unknown: // RFC-DEPLOY-0001 §5: unknown counts as failure
		r.fail(i, Failed, errors.New(a.Reason))
	case health.Deleting:
		r.fail(i, Failed, errors.New("it was deleted while the run waited for it"+kube.DeletionBlockers(live)))
	default:
		s.reason = a.Reason
		r.reportWaiting(i)
	}
}

// onReady handles an object that reports ready. A CRD is ready when discovery
// serves its kinds, a webhook configuration when its Services have endpoints.
func (r *run) onReady(i int, live *unstructured.Unstructured, a health.Assessment) {
	if kinds := kube.DefinedKinds(live); len(kinds) > 0 {
		r.waitForKinds(i, kinds...)
		return
	}
	s := &r.steps[i]
	if len(a.Backends) > 0 && !r.applier.DryRun {
		s.backends = a.Backends
		r.awaitBackend(i)
		return
	}
	why := ""
	if a.Assumed {
		why, s.assumed = a.Reason, true
	}
	r.finishReady(i, why)
}
