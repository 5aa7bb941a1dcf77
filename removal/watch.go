package removal

import (
	"context"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/progress"
)

// Objects that are not gone when their DELETE is answered are watched. A
// watch ends with the last of its objects.

// sharedWatch is one open watch.
type sharedWatch struct {
	steps  []int // whose objects it reports
	active int   // the number of these in no final state
	end    context.CancelFunc
}

// watch makes sure that the deletion of a step's object reaches the loop.
func (r *removal) watch(i int) {
	s := &r.steps[i]
	key := r.watchOf(i)
	if s.watch == key {
		return
	}
	r.unwatch(i)
	s.watch = key
	v := r.openWatches[key]
	if v == nil {
		v = &sharedWatch{end: func() {}}
		r.openWatches[key] = v
		if !r.watches.Forbidden[key] {
			v.end = r.StartWatch(r.Cluster, key, s.kind, r.handleWatchEvent)
		}
	}
	v.steps, v.active = append(v.steps, i), v.active+1
	if r.watches.Forbidden[key] {
		r.poll(i)
	}
}

// unwatch removes a step from its watch, and ends the watch with its last
// step: the kind may be deleted next.
func (r *removal) unwatch(i int) {
	s := &r.steps[i]
	if v := r.openWatches[s.watch]; v != nil {
		if v.active--; v.active == 0 {
			v.end()
			delete(r.openWatches, s.watch)
		}
	}
	s.watch = loop.WatchKey{}
}

// watchOf returns the watch that reports a step's object.
func (r *removal) watchOf(i int) loop.WatchKey {
	s := &r.steps[i]
	return r.watches.Of(s.kind, s.ID, applyset.Owner(s.live) != r.watches.Set)
}

// handleWatchEvent handles a change that a watch reported. Changes count only for the
// object with the uid that is deleted.
func (r *removal) handleWatchEvent(c loop.KeyedWatchEvent) {
	listed := map[string]bool{}
	for _, obj := range c.Objects {
		listed[string(obj.GetUID())] = true
		i, ok := r.byID[kube.Meta(obj).ID]
		if !ok || r.steps[i].live == nil || obj.GetUID() != r.steps[i].live.GetUID() {
			continue
		}
		switch s := &r.steps[i]; {
		case s.state != progress.Deleting:
		case c.Deleted && c.Set != "":
			r.reread(i) // it may only have lost the label
		case c.Deleted:
			r.handleGone(i)
		case s.accepted && obj.GetDeletionTimestamp() != nil:
			s.live = obj
			r.move(i, progress.Deleting, deletionDetail(obj))
		}
	}
	v := r.openWatches[c.WatchKey]
	if v == nil {
		return
	}
	if c.Forbidden != nil {
		r.watches.Forbidden[c.WatchKey] = true
	}
	for _, i := range v.steps {
		s := &r.steps[i]
		switch {
		case s.watch != c.WatchKey: // ended, or moved to another watch
		case c.Listed && !listed[string(s.live.GetUID())]:
			r.reread(i) // gone, or the list is older than the object
		case c.Forbidden != nil && r.watchOf(i) != s.watch:
			r.watch(i)
		case c.Forbidden != nil:
			r.poll(i)
		}
	}
}

// poll reads one object repeatedly until it is gone.
func (r *removal) poll(i int) {
	if r.steps[i].state.Final() {
		return
	}
	r.reread(i)
	r.After(loop.PollEvery, func() { r.poll(i) })
}
