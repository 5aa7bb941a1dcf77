package apply

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/progress"
)

// summary returns the outcome of every step, and joins the errors.
func (r *run) summary(took time.Duration, begun error) (Summary, error) {
	s := Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, Result{
			ID: st.ID, Layer: st.Layer, Wave: st.Wave, State: st.state, Detail: st.detail, Err: st.err,
			Unchanged: st.unchanged, Assumed: st.assumed, FailedAttempts: st.retries,
			Origin: progress.Origin{Absent: r.wasAbsent(i), Member: st.member, Adopted: st.adopted, Created: st.createdUID},
			Times:  progress.Times{Sent: st.sentAt, Applied: st.answeredAt, Done: st.doneAt},
		})
	}
	err := r.Join(&s, r.applier.Timeout)
	return s, errors.Join(begun, err)
}

// finishOpen ends one step that the run left open. A PATCH that the API server
// may still carry out does not count as "not started".
func (r *run) finishOpen(i int) {
	s := &r.steps[i]
	sent := s.state == Applying && !s.sentAt.IsZero()
	held := s.state == Applying && s.detail != ""
	switch {
	case s.state.Final():
	case r.EndedBy == loop.ByRunTimeout && (s.state == Waiting || sent || held):
		r.failTimeout(i, r.applier.Timeout, "run")
	case s.state == Waiting && s.gatePassed:
		r.finish(i, Applied, s.detail)
	case s.state == Waiting:
		r.finish(i, Unsettled, s.detail)
	case sent:
		r.finish(i, Unsettled, r.notAppliedReason(i))
	default:
		r.finish(i, NotStarted, "")
	}
}

// Rolling back a run deletes the objects that it created. Creation is proven,
// never guessed: a LIST right before the first write did not have the object,
// and in the answer to the PATCH no other field manager wrote it before this
// one.

// recordExistence records which objects the snapshot does not contain, and which of
// the others were members of the set.
func (r *run) recordExistence() {
	for i := range r.steps {
		s := &r.steps[i]
		s.listedBefore = s.read.Known
		s.absent = s.listedBefore && s.read.Live == nil
		if s.listedBefore && s.read.Live != nil && r.applier.Membership.Set != "" {
			s.member = applyset.Owner(s.read.Live) == r.applier.Membership.Set
			s.adopted = !s.member
		}
	}
}

// recordCreated records whether the PATCH with this answer created the object.
func (r *run) recordCreated(i int, live *unstructured.Unstructured) {
	if s := &r.steps[i]; s.answeredAt.IsZero() && r.wasAbsent(i) && ownership.WasCreatedBy(live, r.applier.Manager) {
		s.createdUID = live.GetUID()
	}
}

// wasAbsent reports whether an object is proven not to have existed when the
// run began. A custom resource cannot be older than a definition that the run
// created.
func (r *run) wasAbsent(i int) bool {
	s := &r.steps[i]
	if s.listedBefore {
		return s.absent
	}
	for _, crd := range r.crdSteps[s.manifest.GroupVersionKind().GroupVersion()] {
		for _, gvk := range kube.DefinedKinds(r.steps[crd].manifest) {
			if gvk.GroupKind() == s.manifest.GroupVersionKind().GroupKind() && r.steps[crd].createdUID != "" {
				return true
			}
		}
	}
	return false
}
