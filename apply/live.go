package apply

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ordapply/ordapply/applyset"
)

// sight is a change and the watch that saw it.
type sight struct {
	watchKey
	Change
}

// watch makes sure that changes of the resource reach the loop.
func (r *run) watch(i int) {
	s := &r.steps[i]
	key := r.watchOf(i)
	followers, watched := r.watched[key]
	if s.watch != key {
		s.watch = key
		r.watched[key] = append(followers, i)
	}
	if r.watches.forbidden[key] {
		r.poll(i)
	}
	if !watched {
		r.follow(r.a.Cluster, key, s.kind, r.see)
	}
}

// watchOf is the watch that reports a step's object.
func (r *run) watchOf(i int) watchKey {
	s := &r.steps[i]
	return r.watches.of(s.kind, s.ID, s.stray)
}

// heed notes whether the label of the set leads to a live object.
func (r *run) heed(i int, live *unstructured.Unstructured) {
	r.steps[i].stray = applyset.Owner(live) != r.watches.set
}

// awaited tells whether changes of a step's object matter.
func (s *step) awaited() bool {
	return s.state == Waiting || s.vanishing && !s.state.Final()
}

// see takes a change that a watch saw. Only changes of the very object that we
// applied count, and only from the generation that we applied on.
func (r *run) see(c sight) {
	if o, ok := r.outside[c.watchKey]; ok {
		r.seeOutside(o, c.Change)
		return
	}
	for _, obj := range c.Objects {
		i, ok := r.byID[Meta(obj).ID]
		if !ok {
			continue
		}
		s := &r.steps[i]
		if s.state == Applying && !s.vanishing {
			s.early = &early{obj, c.Deleted}
			continue
		}
		if string(obj.GetUID()) != s.live.uid {
			continue
		}
		switch {
		case c.Deleted && c.set != "":
			r.lookAgain(i) // it may have lost no more than the label
		case c.Deleted:
			r.gone(i)
		case s.state == Waiting && obj.GetGeneration() >= s.live.generation:
			r.judge(i, obj)
		}
	}
	switch {
	case c.Listed:
		r.lookForMissing(c)
	case c.Forbidden != nil:
		r.watches.forbidden[c.watchKey] = true
		for _, i := range r.watched[c.watchKey] {
			if s := &r.steps[i]; s.awaited() && s.watch == c.watchKey {
				r.watch(i)
			}
		}
	}
}

// pollEvery is the pause between two looks at an object that may be read but
// not watched.
const pollEvery = 2 * time.Second

// early is the last that a watch saw of an object while its PATCH was out: on a
// busy machine the events of a PATCH may be here before its answer.
type early struct {
	object  *unstructured.Unstructured
	deleted bool
}

// catchUp takes what was seen before the answer to the PATCH, if it is of the
// same object and newer than the answer.
func (r *run) catchUp(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	seen := s.early
	s.early = nil
	if seen == nil || s.state != Waiting || seen.object.GetUID() != live.GetUID() {
		return
	}
	order, err := resourceversion.CompareResourceVersion(seen.object.GetResourceVersion(), live.GetResourceVersion())
	switch {
	case err != nil: // versions that only the server can compare
		r.send(opGet, i)
	case order <= 0:
	case seen.deleted:
		r.lookAgain(i)
	default:
		r.judge(i, seen.object)
	}
}

// poll looks at one object again and again until its step is done.
func (r *run) poll(i int) {
	if !r.steps[i].awaited() {
		return
	}
	r.send(opGet, i)
	r.after(pollEvery, func() { r.poll(i) })
}

// lookForMissing asks for the objects that a list did not hold: they were
// deleted while no watch was open, or the list is older than they are.
func (r *run) lookForMissing(c sight) {
	listed := make(map[string]bool, len(c.Objects))
	for _, obj := range c.Objects {
		listed[string(obj.GetUID())] = true
	}
	for _, i := range r.watched[c.watchKey] {
		if s := &r.steps[i]; s.awaited() && s.watch == c.watchKey && !listed[s.live.uid] {
			r.send(opGet, i)
		}
	}
}

// looked takes the answer about an object that a list did not hold, or that a
// watch lost sight of.
func (r *run) looked(answer reply) {
	i := answer.step
	switch s := &r.steps[i]; {
	case s.vanishing && s.live.uid == "":
		r.foundVanishing(answer)
	case answer.err != nil && !missing(answer.err):
		if !r.watches.forbidden[r.watchOf(i)] { // else it is read again anyway
			r.after(pollEvery, func() { r.lookAgain(i) })
		}
	case missing(answer.err), answer.err == nil && string(answer.live.GetUID()) != r.steps[i].live.uid:
		r.gone(i)
	default:
		r.stillThere(i, answer.live)
	}
}

// stillThere goes on with an object that is, and watches it otherwise when it is
// no longer found by its label.
func (r *run) stillThere(i int, live *unstructured.Unstructured) {
	r.heed(i, live)
	if r.steps[i].state == Waiting {
		r.judge(i, live)
	}
	if s := &r.steps[i]; s.awaited() && s.watch != r.watchOf(i) {
		r.watch(i)
	}
}

// lookAgain reads an object that could not be read, if that still matters.
func (r *run) lookAgain(i int) {
	if r.steps[i].awaited() {
		r.send(opGet, i)
	}
}

// gone goes on with a step whose object was deleted: as awaited, or by somebody
// else.
func (r *run) gone(i int) {
	switch s := &r.steps[i]; {
	case s.state.Final():
	case s.vanishing:
		s.vanishing = false
		r.requireAllFresh()
		r.start(i)
	case s.state == Waiting:
		s.last = nil
		r.fail(i, Failed, errors.New("it was deleted by somebody else while we waited for it"))
	}
}
