package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/kube"
)

// Rolling back a run deletes the objects that it created. Creation is proven,
// never guessed: a LIST right before the first write did not have the object,
// and in the answer to the PATCH no other field manager wrote it before this
// one.

// recordExistence records the objects that the snapshot does not contain, and the members of
// the set among the others.
func (r *run) recordExistence() {
	for i := range r.steps {
		s := &r.steps[i]
		s.listedBefore, s.origin.Absent = s.read.Known, s.read.Known && s.read.Live == nil
		if s.read.Known && s.read.Live != nil && r.applier.Membership.Set != "" {
			s.origin = write.OriginOf(s.read.Live, r.applier.Membership.Set)
		}
	}
}

// existing returns the known state of the objects before the first write, in plan order. An
// object cannot be older than the definition of its kind.
func (r *run) existing() []event.Existing {
	out := make([]event.Existing, len(r.steps))
	for i := range r.steps {
		s := &r.steps[i]
		out[i] = event.Existing{ID: s.ID, Origin: s.origin, Known: s.listedBefore}
		if s.read.Live != nil {
			out[i].Layer = s.read.Live.GetAnnotations()[stamp.LayerAnnotation]
		}
		if s.origin.Member {
			out[i].WrittenBySet = write.WrittenOnlyBy(s.read.Live, r.applier.Membership.Set)
		}
		if crd, ok := r.definition(i); ok && !s.listedBefore && crd.listedBefore && crd.origin.Absent {
			out[i].Absent, out[i].Known = true, true
		}
	}
	return out
}

// definition returns the CustomResourceDefinition of a step's kind, if the plan has it.
func (r *run) definition(i int) (*step, bool) {
	gvk := r.steps[i].manifest.GroupVersionKind()
	for _, crd := range r.crdSteps[gvk.GroupVersion()] {
		for _, defined := range kube.DefinedKinds(r.steps[crd].manifest) {
			if defined.GroupKind() == gvk.GroupKind() {
				return &r.steps[crd], true
			}
		}
	}
	return nil, false
}

// recordCreated records whether the PATCH with this answer created the object.
func (r *run) recordCreated(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if s.answeredAt.IsZero() && r.wasAbsent(i) && write.WasCreatedBy(live, r.applier.Manager) {
		s.origin.Created = live.GetUID()
	}
}

// originOf returns the proven state of a step's object before the run.
func (r *run) originOf(i int) event.Origin {
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
	crd, ok := r.definition(i)
	return ok && crd.origin.Created != ""
}
