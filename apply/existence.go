package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/progress"
)

// Rolling back a run deletes the objects that it created. Creation is proven,
// never guessed: a LIST right before the first write did not have the object,
// and in the answer to the PATCH no other field manager wrote it before this
// one.

// recordExistence records which objects the snapshot does not contain, and which of
// the others were members of the set.
func (r *run) recordExistence() {
	for i := range r.steps {
		s := &r.steps[i]
		s.listedBefore, s.origin.Absent = s.read.Known, s.read.Known && s.read.Live == nil
		if s.read.Known && s.read.Live != nil && r.applier.Membership.Set != "" {
			s.origin.Member = applyset.Owner(s.read.Live) == r.applier.Membership.Set
			s.origin.Adopted = !s.origin.Member
		}
	}
}

// recordCreated records whether the PATCH with this answer created the object.
func (r *run) recordCreated(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if s.answeredAt.IsZero() && r.wasAbsent(i) && ownership.WasCreatedBy(live, r.applier.Manager) {
		s.origin.Created = live.GetUID()
	}
}

// originOf returns what is proven about a step's object before the run.
func (r *run) originOf(i int) progress.Origin {
	origin := r.steps[i].origin
	origin.Absent = r.wasAbsent(i)
	return origin
}

// wasAbsent reports whether an object is proven not to have existed when the
// run began. A custom resource cannot be older than a definition that the run
// created.
func (r *run) wasAbsent(i int) bool {
	s := &r.steps[i]
	if s.listedBefore {
		return s.origin.Absent
	}
	for _, crd := range r.crdSteps[s.manifest.GroupVersionKind().GroupVersion()] {
		for _, gvk := range kube.DefinedKinds(r.steps[crd].manifest) {
			if gvk.GroupKind() == s.manifest.GroupVersionKind().GroupKind() && r.steps[crd].origin.Created != "" {
				return true
			}
		}
	}
	return false
}
