package activity

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Log records the activities under a context.
type Log struct {
	over func() bool // reports whether the context is done

	mu      sync.Mutex
	running []*step // in order of their start
}

// step is a running activity.
type step struct {
	text    string
	inside  *step // the activity of which it is a part
	started time.Time
}

// trace is what a context says about activities.
type trace struct {
	log     *Log
	purpose string
	inside  *step // the running activity
}

type traceKey struct{}

func traceOf(ctx context.Context) trace {
	t, _ := ctx.Value(traceKey{}).(trace)
	return t
}

func (t trace) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// Record returns a context under which activities are recorded. Activities that
// are running when ctx ends remain recorded, since they all end because of
// that.
func Record(ctx context.Context) (context.Context, *Log) {
	t := traceOf(ctx)
	t.log = &Log{over: func() bool { return ctx.Err() != nil }}
	return t.in(ctx), t.log
}

// For returns a context whose activities get a purpose, such as "for the
// prune".
func For(ctx context.Context, purpose string) context.Context {
	t := traceOf(ctx)
	t.purpose = purpose
	return t.in(ctx)
}

// Unrecorded returns a context whose activities are not recorded, for
// background work.
func Unrecorded(ctx context.Context) context.Context { return trace{}.in(ctx) }

// Start records an activity until done is called. Activities under the returned
// context are parts of it.
func Start(ctx context.Context, text string) (_ context.Context, done func()) {
	t := traceOf(ctx)
	if t.log == nil {
		return ctx, func() {}
	}
	if t.purpose != "" {
		text += " " + t.purpose
	}
	s := &step{text, t.inside, time.Now()}
	t.log.begin(s)
	t.inside = s
	return t.in(ctx), func() { t.log.end(s) }
}

func (l *Log) begin(s *step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over() {
		l.running = append(l.running, s)
	}
}

func (l *Log) end(s *step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.running, s); i >= 0 && !l.over() {
		l.running = slices.Delete(l.running, i, i+1)
	}
}

// Now returns the current activity, or the one at the time when the context
// ended: the oldest one, and of that its innermost part. It returns "" if there
// is none.
func (l *Log) Now() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if parts := l.smallest(); len(parts) > 0 {
		return parts[0].text
	}
	return ""
}

// Lasting returns the oldest activity that has lasted at least least, its
// duration, and the number of other such activities. text is "" if there is
// none.
func (l *Log) Lasting(least time.Duration) (text string, took time.Duration, others int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.smallest() {
		switch lasts := time.Since(s.started); {
		case lasts < least:
		case text == "":
			text, took = s.text, lasts
		default:
			others++
		}
	}
	return text, took, others
}

// smallest returns the activities without parts, in order of their start.
func (l *Log) smallest() []*step {
	whole := map[*step]bool{}
	for _, s := range l.running {
		whole[s.inside] = true
	}
	var out []*step
	for _, s := range l.running {
		if !whole[s] {
			out = append(out, s)
		}
	}
	return out
}
