package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

const (
	// showEvery is the shortest time between two times that a set is shown, and
	// between two reads of its parent because that changed.
	showEvery = 200 * time.Millisecond
	// lookEvery is how often a set is read that cannot be watched, or not now.
	lookEvery = 2 * time.Second
)

// scene is a set as it was read: what is to be watched of it, and how that is to
// be understood.
type scene struct {
	signs   []state.View                  // of a change by which the set is to be read again
	members []state.View                  // of all that may be a member
	apart   func(state.View) []state.View // that stand for one which may not be watched
	// incomplete says that there are members which no view can show.
	incomplete bool
	now        *standing // as it was read; nil when only the signs were
	// standing understands what the views of members show.
	standing func(live []*unstructured.Unstructured, now time.Time, found endpoints) *standing
	found    endpoints                          // asks the cluster
	backends func(service object.ID) state.View // shows the endpoints of a Service
}

// follower tells how a set does: it reads the set once, and then watches it.
// What may not or cannot be watched it reads again and again. One goroutine owns
// all of it; watches send to that one.
type follower struct {
	read  func(ctx context.Context, whole bool) (*scene, error)
	watch func(ctx context.Context, v state.View, changed func(apply.Change))
	show  shower

	scene     *scene
	open      map[state.View]*opened
	forbidden map[state.View]bool
	news      chan sight
	services  map[object.ID]bool // whether they have endpoints, as far as that was asked
	again     alarm              // to read the set
	whole     bool               // and all of its members
	redraw    alarm              // to show what the watches saw
	looked    time.Time          // when the set was read last
	shown     time.Time
	failing   bool // the set could not be read
}

// follow goes on until ctx is done. That the set cannot be read for a while is
// told, and ends nothing; that it cannot be read at first does.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.open, f.forbidden, f.services = map[state.View]*opened{}, map[state.View]bool{}, map[object.ID]bool{}
	f.news, f.again, f.redraw = make(chan sight), newAlarm(), newAlarm()
	f.whole = true
	err := f.look(ctx)
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case s := <-f.news:
			f.see(ctx, s)
		case <-f.again.C:
			err = f.look(ctx)
		case <-f.redraw.C:
			err = f.draw(ctx)
		case disturbed := <-f.show.disturbances():
			err = disturbed()
		}
	}
	if ctx.Err() != nil {
		return watchEnded{}
	}
	return err
}

// look reads the set, shows what is new of it and watches what it has now.
func (f *follower) look(ctx context.Context) error {
	whole := f.whole
	f.again.off()
	f.whole, f.looked = false, time.Now()
	s, err := f.read(ctx, whole)
	switch {
	case err != nil && f.scene == nil:
		return err
	case err != nil:
		f.failing = true
		f.lookBy(time.Now().Add(lookEvery), whole)
		return f.show.trouble(err)
	}
	f.scene = s
	if f.failing {
		f.failing = false
		if err := f.show.trouble(nil); err != nil {
			return err
		}
	}
	f.arrange(ctx)
	f.redraw.by(time.Now())
	if s.now == nil {
		return nil
	}
	f.shown = time.Now()
	return f.show.show(s.now)
}

// lookBy reads the set at a time, or sooner.
func (f *follower) lookBy(at time.Time, whole bool) {
	f.whole = f.whole || whole
	f.again.by(at)
}

// see takes what a watch saw.
func (f *follower) see(ctx context.Context, s sight) {
	if f.open[s.from.View] != s.from {
		return // it is not watched any longer
	}
	switch {
	case s.Back:
	case s.Lost != nil: // watches try again after longer and longer pauses
		f.close()
		f.lookBy(f.looked.Add(lookEvery), true)
	case s.Forbidden != nil:
		f.forbidden[s.from.View] = true
		f.arrange(ctx)
	case s.from.sign:
		f.lookBy(f.looked.Add(showEvery), false)
	default:
		s.from.take(s.Change)
		delete(f.services, s.from.service)
		f.redraw.by(f.shown.Add(showEvery))
	}
}

// draw shows what the watches saw, when all of them have begun.
func (f *follower) draw(ctx context.Context) error {
	f.redraw.off()
	live, all := f.objects()
	if !all {
		return nil
	}
	now := f.scene.standing(live, time.Now(), f.found)
	f.arrange(ctx) // there may be Services that nobody asked about before
	if !now.Until.IsZero() {
		f.redraw.by(now.Until)
	}
	f.shown = time.Now()
	return f.show.show(now)
}

// found tells whether a Service has endpoints, and asks that once as long as no
// watch sees them change.
func (f *follower) found(service object.ID) (bool, error) {
	if there, known := f.services[service]; known {
		return there, nil
	}
	there, err := f.scene.found(service)
	if err != nil {
		f.lookBy(time.Now().Add(lookEvery), false)
		return false, err
	}
	f.services[service] = there
	return there, nil
}

// alarm goes off at the earliest of the times that it was set to.
type alarm struct {
	*time.Timer
	at time.Time // zero: never
}

func newAlarm() alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return alarm{Timer: timer}
}

func (a *alarm) by(at time.Time) {
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.Reset(time.Until(at))
	}
}

// off forgets the time: the alarm went off, or is not needed.
func (a *alarm) off() {
	a.at = time.Time{}
	a.Stop()
}
