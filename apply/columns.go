package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Where no rule knows a kind, the printer columns of its
// CustomResourceDefinition name the status fields that matter to people. The
// CustomResourceDefinitions of the stream are known. For any other kind the
// CustomResourceDefinition is read once, when the first status of the kind is
// judged; if that fails, the status is judged without it.

// columnRead is the read of one such CustomResourceDefinition.
type columnRead struct {
	done    bool
	pending []int // steps that are judged when it is done
}

// awaitColumns reports whether the assessment of a live object must wait for
// the printer columns of its kind, and starts reading them.
func (r *run) awaitColumns(i int, live *unstructured.Unstructured, given health.Assessment) bool {
	s := &r.steps[i]
	name := s.kind.CRDName()
	l := r.columnReads[name]
	if l == nil {
		definition, served := r.kind(kube.DefiningKinds()[0])
		if r.applier.DryRun || !served || !r.applier.Health.MissesColumns(live, given) {
			return false
		}
		l = &columnRead{}
		r.columnReads[name] = l
		r.submit(request{op: opDefinition, step: -1, kind: definition, id: object.ID{Name: name}})
	}
	if !l.done && !slices.Contains(l.pending, i) {
		l.pending = append(l.pending, i)
	}
	return !l.done
}

// isAwaitingColumns reports whether a step waits for the printer columns of its
// kind.
func (r *run) isAwaitingColumns(i int) bool {
	l := r.columnReads[r.steps[i].kind.CRDName()]
	return l != nil && !l.done && slices.Contains(l.pending, i)
}

// handleColumns judges the steps that waited for printer columns.
func (r *run) handleColumns(answer reply) {
	l := r.columnReads[answer.id.Name]
	l.done = true
	if answer.err == nil {
		r.applier.Health.Learn(answer.live)
	}
	for _, i := range l.pending {
		if s := &r.steps[i]; s.state == Waiting && s.lastSeen != nil {
			live := s.lastSeen
			r.evaluate(i, live)
			r.keepWaiting(i, live)
		}
	}
}
