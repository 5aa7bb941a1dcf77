package track

import (
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
)

// Kind is the meaning of an event.
type Kind int

// The kinds of transitions.
const (
	Unknown    Kind = iota // none yet, or the resource is not in the plan
	Progressed             // its state is as before, its detail is new
	Sent                   // its first request is due: it is being applied or deleted
	Applied                // its PATCH was answered; from now on it waits to be ready
	Ended                  // it reached its final state
	WaveOpened             // the wave began
	WaveEnded              // every resource of the wave succeeded
	HooksBegan             // the hooks of an event begin
	HookLogged             // the log of a hook's container was read; no transition
)

// Transition is an event, and its meaning after the earlier ones.
type Transition struct {
	event.Event
	Kind        Kind
	event.Times // of the resource, of the current operation on a hook, or of a wave from Sent to Done
}

// Took returns how long the resource, the wave or the operation on a hook has taken.
func (t Transition) Took() time.Duration { return t.Times.Took(t.Time) }

// Take records an event.
func (t *Tracker) Take(e event.Event) Transition {
	t.Last = e.Time
	switch {
	case e.Hook != nil:
		return t.hook(e)
	case e.ID == (object.ID{}):
		return t.wave(e)
	}
	i, ok := t.index[e.ID]
	if !ok {
		return Transition{Event: e, Kind: Unknown}
	}
	r := &t.Resources[i]
	kind := r.take(e)
	return Transition{Event: e, Kind: kind, Times: r.Times}
}

// take records an event of a resource.
func (r *Resource) take(e event.Event) Kind {
	kind := kindOf(r.State, e.State)
	r.State, r.Last, r.Detail, r.Change = e.State, kind, e.Detail, e.Change
	switch {
	case kind == Sent && r.Sent.IsZero():
		r.Sent = e.Time
	case kind == Applied && r.Applied.IsZero():
		r.Applied = e.Time
	case kind == Ended:
		r.Done, r.Assumed = e.Time, e.Assumed
	}
	return kind
}

// kindOf returns the kind of the transition of a resource or hook between two states.
func kindOf(from, to event.State) Kind {
	switch {
	case to.Final():
		return Ended
	case to == from:
		return Progressed
	case to == event.Waiting:
		return Applied
	}
	return Sent
}

// wave records that a wave opened or ended.
func (t *Tracker) wave(e event.Event) Transition {
	w := &t.Waves[e.Wave]
	if !e.EndsWave() {
		t.Open, w.Opened, w.Deletes = e.Wave, e.Time, e.State == event.Deleting
		for _, i := range w.Members {
			t.Resources[i].Queued = e.Time
		}
		return Transition{Event: e, Kind: WaveOpened, Times: event.Times{Sent: e.Time}}
	}
	t.Open, w.Ended = None, e.Time
	return Transition{Event: e, Kind: WaveEnded, Times: event.Times{Sent: w.Opened, Done: e.Time}}
}

// hook records an event of a hook. One operation on a hook follows the other: its old
// object is deleted, it is applied, and perhaps deleted again.
func (t *Tracker) hook(e event.Event) Transition {
	switch {
	case e.ID == (object.ID{}):
		return Transition{Event: e, Kind: HooksBegan}
	case e.Hook.Log != nil:
		return Transition{Event: e, Kind: HookLogged}
	}
	if t.Hook == nil || t.Hook.ID != e.ID || t.Hook.Event != e.Hook.Event {
		t.Hook = &Hook{Event: e.Hook.Event, Resource: Resource{ID: e.ID, Queued: e.Time}}
	}
	kind := t.Hook.take(e)
	if kind == Sent {
		t.hooks[e.ID], t.Hook.Sent = e.Time, e.Time
	}
	times := t.Hook.Times
	times.Sent = t.hooks[e.ID]
	if kind == Ended {
		t.Hook = nil
	}
	return Transition{Event: e, Kind: kind, Times: times}
}
