package status

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

const (
	// minShowInterval is the minimum interval between two outputs, and between two
	// reads of the set after changes of its parent.
	minShowInterval = 200 * time.Millisecond
	// pollInterval is the polling interval for sets that cannot be watched.
	pollInterval = 2 * time.Second
)

// setSnapshot is a snapshot of a set: what to watch, and how to interpret it.
type setSnapshot struct {
	changeSignals []kube.View                 // a change in one of these means that the set must be read again
	members       []kube.View                 // all objects that may be members
	perNamespace  func(kube.View) []kube.View // the views to use instead of one that may not be watched
	// incomplete reports that no view can show some of the members.
	incomplete bool
	now        *setStatus // the status as read; nil if only changeSignals were read
	// setStatus computes the status from the objects that the views show.
	setStatus func(live []*unstructured.Unstructured, now time.Time, found endpoints) *setStatus
	found     endpoints                         // reads from the cluster
	backends  func(service object.ID) kube.View // returns the view of a Service's endpoints
}

// statusFollower follows the status of a set: it reads the set once and then watches
// it. It polls what cannot be watched. All state belongs to one goroutine, to
// which the watches send.
type statusFollower struct {
	read    func(ctx context.Context, whole bool) (*setSnapshot, error)
	watches *watchSet
	show    renderer

	snapshot  *setSnapshot
	services  map[object.ID]bool // cached results: whether a Service has endpoints
	again     earliestTimer      // when to read the set
	whole     bool               // and all of its members
	redraw    earliestTimer      // when to show what the watches received
	refreshed time.Time          // time of the last read
	shown     time.Time
	failing   bool // the last read of the set failed
}

// follow runs until ctx is done. It returns an error if the first read fails;
// later errors are shown, and the read is retried.
func (f *statusFollower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.services, f.again, f.redraw = map[object.ID]bool{}, newEarliestTimer(), newEarliestTimer()
	f.whole = true
	err := f.refresh(ctx)
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case s := <-f.watches.events:
			f.handleEvent(ctx, s)
		case <-f.again.C:
			err = f.refresh(ctx)
		case <-f.redraw.C:
			err = f.draw(ctx)
		case disturbed := <-f.show.redraws():
			err = disturbed()
		}
	}
	if ctx.Err() != nil {
		return watchEnded{}
	}
	return err
}

// refresh reads the set, shows changes and updates the watches.
func (f *statusFollower) refresh(ctx context.Context) error {
	whole := f.whole
	f.again.off()
	f.whole, f.refreshed = false, time.Now()
	s, err := f.read(ctx, whole)
	switch {
	case err != nil && f.snapshot == nil:
		return err
	case err != nil:
		f.failing = true
		f.scheduleRefresh(time.Now().Add(pollInterval), whole)
		return f.show.trouble(err)
	}
	f.snapshot = s
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

// arrange watches the set as it is now. If it cannot be watched completely, it is
// polled instead.
func (f *statusFollower) arrange(ctx context.Context) {
	if !f.watches.arrange(ctx, f.snapshot, slices.Collect(maps.Keys(f.services))) {
		f.scheduleRefresh(f.refreshed.Add(pollInterval), true)
	}
}

// scheduleRefresh schedules a read of the set at or before a time.
func (f *statusFollower) scheduleRefresh(at time.Time, whole bool) {
	f.whole = f.whole || whole
	f.again.by(at)
}

// handleEvent handles an event of a watch.
func (f *statusFollower) handleEvent(ctx context.Context, s keyedWatchEvent) {
	if !f.watches.has(s.from) {
		return // it was closed
	}
	switch {
	case s.Reconnected:
	case s.Disconnected != nil: // watches retry with increasing backoff
		f.watches.close()
		f.scheduleRefresh(f.refreshed.Add(pollInterval), true)
	case s.Forbidden != nil:
		f.watches.forbidden[s.from.View] = true
		f.arrange(ctx)
	case s.from.changeSignal:
		f.scheduleRefresh(f.refreshed.Add(minShowInterval), false)
	default:
		s.from.record(s.WatchEvent)
		delete(f.services, s.from.service)
		f.redraw.by(f.shown.Add(minShowInterval))
	}
}

// draw shows the objects that the watches received, once all have listed.
func (f *statusFollower) draw(ctx context.Context) error {
	f.redraw.off()
	live, all := f.watches.objects()
	if !all {
		return nil
	}
	now := f.snapshot.setStatus(live, time.Now(), f.found)
	f.arrange(ctx) // there may be new Services to watch
	if !now.Until.IsZero() {
		f.redraw.by(now.Until)
	}
	f.shown = time.Now()
	return f.show.show(now)
}

// found reports whether a Service has endpoints. It caches the answer until a
// watch reports a change.
func (f *statusFollower) found(service object.ID) (bool, error) {
	if there, known := f.services[service]; known {
		return there, nil
	}
	there, err := f.snapshot.found(service)
	if err != nil {
		f.scheduleRefresh(time.Now().Add(pollInterval), false)
		return false, err
	}
	f.services[service] = there
	return there, nil
}

// earliestTimer is a timer that fires at the earliest of the times it was set to.
type earliestTimer struct {
	*time.Timer
	at time.Time // zero if not set
}

func newEarliestTimer() earliestTimer {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return earliestTimer{Timer: timer}
}

func (a *earliestTimer) by(at time.Time) {
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.Reset(time.Until(at))
	}
}

// off stops the timer.
func (a *earliestTimer) off() {
	a.at = time.Time{}
	a.Stop()
}
