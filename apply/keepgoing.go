package apply

import (
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
)

// goOnWithout goes on without a step that cannot be applied, see Applier.KeepGoing. The steps
// that depend on it are skipped, and neither waves nor layers wait for any of them.
func (r *run) goOnWithout(i int) {
	left := []int{i}
	why := "it needs " + r.steps[i].ID.String() + ", which " + r.steps[i].outcomeInWords()
	r.order.EachBlocked(i, loop.NoGate, func(node int) bool {
		if node >= len(r.steps) || r.steps[node].state != event.Pending {
			return false
		}
		r.finish(node, event.Skipped, why)
		left = append(left, node)
		return true
	})
	for _, step := range left {
		r.pass(step)
		r.releaseLayers(step)
	}
}

// releaseLayers ends the wait of layers for a step that was left out. Before the schedule
// begins, no layer waits yet.
func (r *run) releaseLayers(i int) {
	for _, e := range r.order.From(i) {
		if e.To >= len(r.steps) {
			r.release(e.To)
		}
	}
}
