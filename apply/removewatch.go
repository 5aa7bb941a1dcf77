package apply

import (
	"context"

	"github.com/ordapply/ordapply/applyset"
)

// What is deleted and not gone with the answer is watched. A watch ends with the
// last object that it is for.

// vigil is one open watch.
type vigil struct {
	steps []int // that it is for
	left  int   // of these, in no final state
	end   context.CancelFunc
}

// watch makes sure that the end of a step's object reaches the loop.
func (r *removal) watch(i int) {
	s := &r.steps[i]
	key := r.watchOf(i)
	if s.watch == key {
		return
	}
	r.unwatch(i)
	s.watch = key
	v := r.watched[key]
	if v == nil {
		v = &vigil{end: func() {}}
		r.watched[key] = v
		if !r.watches.forbidden[key] {
			v.end = r.follow(r.Cluster, key, s.kind, r.see)
		}
	}
	v.steps, v.left = append(v.steps, i), v.left+1
	if r.watches.forbidden[key] {
		r.poll(i)
	}
}

// unwatch ends the watch of a step that is over, or watched otherwise, if it was
// the last that it was for. The kind may go next.
func (r *removal) unwatch(i int) {
	s := &r.steps[i]
	if v := r.watched[s.watch]; v != nil {
		if v.left--; v.left == 0 {
			v.end()
			delete(r.watched, s.watch)
		}
	}
	s.watch = watchKey{}
}

// watchOf is the watch that reports a step's object.
func (r *removal) watchOf(i int) watchKey {
	s := &r.steps[i]
	return r.watches.of(s.kind, s.ID, applyset.Owner(s.live) != r.watches.set)
}

// see takes a change that a watch saw. Only those of the very object that is
// deleted count.
func (r *removal) see(c sight) {
	listed := map[string]bool{}
	for _, obj := range c.Objects {
		listed[string(obj.GetUID())] = true
		i, ok := r.byID[Meta(obj).ID]
		if !ok || r.steps[i].live == nil || obj.GetUID() != r.steps[i].live.GetUID() {
			continue
		}
		switch s := &r.steps[i]; {
		case s.state != Deleting:
		case c.Deleted && c.set != "":
			r.look(i) // it may have lost no more than the label
		case c.Deleted:
			r.gone(i)
		case s.accepted && obj.GetDeletionTimestamp() != nil:
			s.live = obj
			r.move(i, Deleting, waitsUntilGone(obj))
		}
	}
	v := r.watched[c.watchKey]
	if v == nil {
		return
	}
	if c.Forbidden != nil {
		r.watches.forbidden[c.watchKey] = true
	}
	for _, i := range v.steps {
		s := &r.steps[i]
		switch {
		case s.watch != c.watchKey: // over, or watched otherwise
		case c.Listed && !listed[string(s.live.GetUID())]:
			r.look(i) // gone, or the list is older than the object
		case c.Forbidden != nil && r.watchOf(i) != s.watch:
			r.watch(i)
		case c.Forbidden != nil:
			r.poll(i)
		}
	}
}

// poll looks at one object again and again until it is gone.
func (r *removal) poll(i int) {
	if r.steps[i].state.Final() {
		return
	}
	r.look(i)
	r.after(pollEvery, func() { r.poll(i) })
}
