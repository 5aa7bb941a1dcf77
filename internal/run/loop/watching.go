package loop

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Change is the kind of a change.
type Change int

// The changes.
const (
	Seen    Change = iota // it was listed, created or changed
	Deleted               // it is gone
	Left                  // it is gone, or has lost the label by which it is watched
)

// WatchRun is the run whose steps wait for objects.
type WatchRun struct {
	ID func(step int) object.ID // of a step's object
	// Kind returns the kind of the object of a step that follows it. unlabelled is set when the
	// object lacks the label of the run's set.
	Kind      func(step int) (kind kube.Kind, unlabelled bool)
	IsAwaited func(step int) bool   // changes of its object matter now
	UID       func(step int) string // of the object that the step waits for
	// OnChange is called for every object of the run that a watch reports, also for one with
	// another uid.
	OnChange func(step int, obj *unstructured.Unstructured, change Change)
	Read     func(step int) // reads the object: a list did not contain it, or it is polled
}

// Watches are the watches of a run.
type Watches struct {
	run      WatchRun
	loop     *Loop
	cluster  kube.Cluster
	selector WatchSelector
	count    int               // of the steps
	steps    map[object.ID]int // by their objects, from the first watch on
	open     map[WatchKey]*watch
	keys     map[int]WatchKey // of the steps that follow a watch
	polled   map[int]bool     // steps whose objects are read every PollEvery
}

// watch is one open watch.
type watch struct {
	followers []int
	end       context.CancelFunc
}

// NewWatches returns the watches of a run on the members of an apply set, or of no set if that
// is "".
func NewWatches(l *Loop, cluster kube.Cluster, set string, run WatchRun) *Watches {
	return &Watches{
		run: run, loop: l, cluster: cluster, selector: NewWatchSelector(set),
		open: map[WatchKey]*watch{}, keys: map[int]WatchKey{}, polled: map[int]bool{},
	}
}

// Count adds the object of a step.
func (w *Watches) Count(step int, id object.ID) {
	w.count = max(w.count, step+1)
	if w.steps != nil {
		w.steps[id] = step
	}
	w.selector.Count(id)
}

// index makes the steps known by their objects. Thousands of objects that are ready at once are
// never watched.
func (w *Watches) index() {
	if w.steps != nil {
		return
	}
	w.steps = make(map[object.ID]int, w.count)
	for step := range w.count {
		w.steps[w.run.ID(step)] = step
	}
}

// Follow makes sure that changes of a step's object reach OnChange.
func (w *Watches) Follow(step int) {
	w.index()
	key := w.keyOf(step)
	if w.keys[step] != key {
		w.Unfollow(step)
		w.keys[step] = key
		one := w.open[key]
		if one == nil {
			one = &watch{end: func() {}}
			w.open[key] = one
			if !w.selector.Forbidden[key] {
				kind, _ := w.run.Kind(step)
				one.end = w.loop.StartWatch(w.cluster, key, kind, w.handle)
			}
		}
		one.followers = append(one.followers, step)
	}
	if w.selector.Forbidden[key] && !w.polled[step] {
		w.poll(step)
	}
}

// Unfollow removes a step from its watch, and ends the watch with its last step: the kind may be
// deleted next.
func (w *Watches) Unfollow(step int) {
	key := w.keys[step]
	delete(w.keys, step)
	if one := w.open[key]; one != nil {
		one.followers = slices.DeleteFunc(one.followers, func(i int) bool { return i == step })
		if len(one.followers) == 0 {
			one.end()
			delete(w.open, key)
		}
	}
}

// keyOf returns the watch that reports a step's object.
func (w *Watches) keyOf(step int) WatchKey {
	kind, unlabelled := w.run.Kind(step)
	return w.selector.Of(kind, w.run.ID(step), unlabelled)
}

// IsPolled reports whether a step's object is read again and again, as it may not be watched.
func (w *Watches) IsPolled(step int) bool { return w.polled[step] }

// handle handles a watch event.
func (w *Watches) handle(c KeyedWatchEvent) {
	change := Seen
	switch {
	case c.Deleted && c.Set != "":
		change = Left
	case c.Deleted:
		change = Deleted
	}
	listed := make(map[string]bool, len(c.Objects))
	for _, obj := range c.Objects {
		listed[string(obj.GetUID())] = true
		if step, ok := w.steps[kube.Meta(obj).ID]; ok {
			w.run.OnChange(step, obj, change)
		}
	}
	if c.Forbidden != nil {
		w.selector.Forbidden[c.WatchKey] = true
	}
	if one := w.open[c.WatchKey]; one != nil && (c.Listed || c.Forbidden != nil) {
		for _, step := range slices.Clone(one.followers) {
			w.recheck(step, c, listed)
		}
	}
}

// recheck handles a list, or the refusal of a watch, for one of its steps. An object that a list
// did not contain was deleted while no watch was open, or the list is older than it is.
func (w *Watches) recheck(step int, c KeyedWatchEvent, listed map[string]bool) {
	switch {
	case w.keys[step] != c.WatchKey, !w.run.IsAwaited(step):
	case c.Forbidden != nil:
		w.Follow(step)
	case !listed[w.run.UID(step)]:
		w.run.Read(step)
	}
}

// poll reads a step's object every PollEvery, as long as it is awaited.
func (w *Watches) poll(step int) {
	if w.polled[step] = w.run.IsAwaited(step); w.polled[step] {
		w.run.Read(step)
		w.loop.After(PollEvery, func() { w.poll(step) })
	}
}
