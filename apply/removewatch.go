package apply

import "context"

// What is deleted and not gone with the answer is watched: one watch for each
// kind and namespace, or by name where a run deletes no more than two there. A
// watch ends with the last object that it is for.

// vigil is one open watch.
type vigil struct {
	steps []int // that it is for
	left  int   // of these, in no final state
	end   context.CancelFunc
}

// watch makes sure that the end of a step's object reaches the loop.
func (r *removal) watch(i int) {
	s := &r.steps[i]
	if s.watched {
		return
	}
	s.watched = true
	key := r.watchOf(i)
	v := r.watched[key]
	if v == nil {
		v = &vigil{end: func() {}}
		r.watched[key] = v
		if !r.forbidden[key] {
			v.end = r.follow(r.Cluster, key, s.kind, r.see)
		}
	}
	v.steps, v.left = append(v.steps, i), v.left+1
	if r.forbidden[key] {
		r.poll(i)
	}
}

// unwatch ends the watch of a step that is over, if it was the last that it was
// for. The kind may go next.
func (r *removal) unwatch(i int) {
	key := r.watchOf(i)
	if v := r.watched[key]; v != nil && r.steps[i].watched {
		if v.left--; v.left == 0 {
			v.end()
			delete(r.watched, key)
		}
	}
}

func (r *removal) watchOf(i int) watchKey {
	s := &r.steps[i]
	key := watchKey{resource: s.kind.Resource, namespace: s.ID.Namespace}
	if r.crowd[placeOf(s.ID)] < 3 {
		key.name = s.ID.Name
	}
	return key
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
		r.forbidden[c.watchKey] = true
	}
	for _, i := range v.steps {
		s := &r.steps[i]
		switch {
		case s.state.Final():
		case c.Listed && !listed[string(s.live.GetUID())]:
			r.look(i) // gone, or the list is older than the object
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
