package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// Where no rule knows a kind, the printer columns of its CustomResourceDefinition
// say which fields of a status people read. Those of the stream are known. Of any
// other kind the CustomResourceDefinition is read once, when the first status of
// the kind is judged; where that is not possible, the status is judged without.

// lesson is one such kind.
type lesson struct {
	over    bool
	pending []int // steps that are judged when it is over
}

// learnFirst reports whether an assessment of a live object is to wait until the
// printer columns of its kind have been read, and has them read.
func (r *run) learnFirst(i int, live *unstructured.Unstructured, given health.Assessment) bool {
	s := &r.steps[i]
	name := definitionOf(s.kind)
	l := r.lessons[name]
	if l == nil {
		definition, served := r.kind(definitions()[0])
		if r.a.DryRun || !served || !r.a.Health.MissesColumns(live, given) {
			return false
		}
		l = &lesson{}
		r.lessons[name] = l
		r.hand(request{op: opDefinition, step: -1, kind: definition, id: object.ID{Name: name}})
	}
	if !l.over && !slices.Contains(l.pending, i) {
		l.pending = append(l.pending, i)
	}
	return !l.over
}

// definitionOf is the name of the CustomResourceDefinition of a kind, if it has one.
func definitionOf(kind Kind) string { return kind.Resource.GroupResource().String() }

// isLearning reports whether a step waits for the printer columns of its kind.
func (r *run) isLearning(i int) bool {
	l := r.lessons[definitionOf(r.steps[i].kind)]
	return l != nil && !l.over && slices.Contains(l.pending, i)
}

// learned judges what waited for printer columns.
func (r *run) learned(answer reply) {
	l := r.lessons[answer.id.Name]
	l.over = true
	if answer.err == nil {
		r.a.Health.Learn(answer.live)
	}
	for _, i := range l.pending {
		if s := &r.steps[i]; s.state == Waiting && s.last != nil {
			live := s.last
			r.judge(i, live)
			r.keepWaiting(i, live)
		}
	}
}
