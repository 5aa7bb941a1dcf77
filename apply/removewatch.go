package apply

// What is deleted and not gone with the answer is watched: one watch for each
// kind and namespace, or by name where a run deletes no more than two there.

// watch makes sure that the end of a step's object reaches the loop.
func (r *removal) watch(i int) {
	s := &r.steps[i]
	if s.watched {
		return
	}
	s.watched = true
	key := r.watchOf(i)
	followers, open := r.watched[key]
	r.watched[key] = append(followers, i)
	switch {
	case r.forbidden[key]:
		r.poll(i)
	case !open:
		r.follow(key, s.kind)
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

// follow opens a watch that reports to the loop.
func (r *removal) follow(key watchKey, kind Kind) {
	ctx, sights := r.ctx(), r.sights
	go r.Cluster.Watch(ctx, kind, key.namespace, key.name, func(c Change) {
		select {
		case sights <- sight{key, c}:
		case <-ctx.Done():
		}
	})
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
	for _, i := range r.watched[c.watchKey] {
		s := &r.steps[i]
		switch {
		case s.state.Final():
		case c.Listed && !listed[string(s.live.GetUID())]:
			r.look(i) // gone, or the list is older than the object
		case c.Forbidden != nil:
			r.poll(i)
		}
	}
	if c.Forbidden != nil {
		r.forbidden[c.watchKey] = true
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
