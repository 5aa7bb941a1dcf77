// Package activity names what a command is waiting for, so that it can say so when
// its time is over.
//
//	ctx, doing := activity.Record(ctx)
//	ctx, done := activity.Start(activity.For(ctx, "for the prune"), "listing configmaps")
//	defer done()
//	doing.Now() // "listing configmaps for the prune"
//	doing.Lasting(10*time.Second) // the same, from when it has taken so long
package activity

import (
	"context"
	"sync"
	"time"
)

// Log knows what is going on under a context.
type Log struct {
	over func() bool // the context is

	mu    sync.Mutex
	going []*step // in the order in which they began
}

// step is one thing that is being done.
type step struct {
	text   string
	inside *step // of which it is a part
	begun  time.Time
}

type logKey struct{}
type stepKey struct{}
type purposeKey struct{}

// Record notes what is begun with the context that it returns. What goes on when
// ctx ends stays noted: all of it ends by that, one after the other.
func Record(ctx context.Context) (context.Context, *Log) {
	log := &Log{over: func() bool { return ctx.Err() != nil }}
	return context.WithValue(ctx, logKey{}, log), log
}

// For says what everything is for that is begun with the context that it returns,
// such as "for the prune".
func For(ctx context.Context, purpose string) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose)
}

// Unrecorded is a context with which nothing is noted, for what goes on beside
// everything else.
func Unrecorded(ctx context.Context) context.Context {
	return context.WithValue(ctx, logKey{}, (*Log)(nil))
}

// Start notes that something is begun, until done is called. What is begun with
// the context that it returns is a part of it.
func Start(ctx context.Context, text string) (_ context.Context, done func()) {
	log, _ := ctx.Value(logKey{}).(*Log)
	if log == nil {
		return ctx, func() {}
	}
	if purpose, ok := ctx.Value(purposeKey{}).(string); ok {
		text += " " + purpose
	}
	outer, _ := ctx.Value(stepKey{}).(*step)
	s := &step{text, outer, time.Now()}
	log.begin(s)
	return context.WithValue(ctx, stepKey{}, s), func() { log.end(s) }
}

func (l *Log) begin(s *step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over() {
		l.going = append(l.going, s)
	}
}

func (l *Log) end(s *step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over() {
		return
	}
	for i := range l.going {
		if l.going[i] == s {
			l.going = append(l.going[:i], l.going[i+1:]...)
			return
		}
	}
}

// Now is what is going on, or went on when the context ended: of several things
// the one that began first, and of that the smallest part. It is "" when nothing is.
func (l *Log) Now() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.smallest() {
		return s.text
	}
	return ""
}

// Lasting is what has been going on for some time at least, and for how long: as
// Now, with the number of other things that have taken so long as well. The text is
// "" when nothing has.
func (l *Log) Lasting(least time.Duration) (text string, took time.Duration, others int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.smallest() {
		switch lasts := time.Since(s.begun); {
		case lasts < least:
		case text == "":
			text, took = s.text, lasts
		default:
			others++
		}
	}
	return text, took, others
}

// smallest are the things that have no parts, in the order in which they began.
func (l *Log) smallest() []*step {
	whole := map[*step]bool{}
	for _, s := range l.going {
		whole[s.inside] = true
	}
	var out []*step
	for _, s := range l.going {
		if !whole[s] {
			out = append(out, s)
		}
	}
	return out
}
