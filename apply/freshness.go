package apply

import "github.com/ordapply/ordapply/ordering"

// Objects read before a run are up to date when the run begins. Once the run has
// sent something, or waited for something, the resources of a later wave are
// judged by their state when their wave opens: their objects are read again, with
// one LIST for each kind and namespace of that wave. A resource that starts later
// than its wave because it had to wait is read again by itself, and so is, with
// schedule Graph, one that starts after something became ready. A run that sends
// nothing and waits for nothing reads everything once.
//
// Reads are ordered by epochs. A new epoch begins when earlier reads may be
// outdated.

// invalidateReads begins a new epoch: something was sent, or changed during a
// wait.
func (r *run) invalidateReads() {
	r.hasActed = true
	r.epoch++
}

// requireFreshRead makes a step ignore reads of earlier epochs.
func (r *run) requireFreshRead(i int) { r.steps[i].minEpoch = r.epoch }

// requireFreshReads makes the members of a wave that opens ignore earlier
// reads, if the run has sent or waited for anything.
func (r *run) requireFreshReads(members []int) {
	if r.hasActed {
		r.epoch++
	}
	for _, i := range members {
		r.requireFreshRead(i)
	}
}

// inheritFreshness makes a step that waited for another one require a read as
// fresh as the other did, or a new one where it waited for the other to be
// ready.
func (r *run) inheritFreshness(i, held int, gate ordering.Gate) {
	if held < len(r.steps) && gate == ordering.Applied {
		r.steps[i].minEpoch = max(r.steps[i].minEpoch, r.steps[held].minEpoch)
		return
	}
	r.requireFreshRead(i)
}

// requireAllFresh makes all steps that have not started ignore earlier reads: a
// terminating object is gone by now, and its contents and dependents with it.
func (r *run) requireAllFresh() {
	r.invalidateReads()
	for i := range r.steps {
		r.requireFreshRead(i)
	}
}
