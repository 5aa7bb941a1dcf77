package abortable

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/plain"
)

// Slow operations are reported on standard error while they last. Otherwise a
// request without an answer looks like a program that hangs.

// SlowAfter is the delay before the first report, slowAgain the interval of
// further ones.
const (
	SlowAfter = 10 * time.Second
	slowAgain = 30 * time.Second
)

// slowNotices reports slow operations until it is muted.
type slowNotices struct {
	mu     sync.Mutex
	notify func(string) // nil if muted
	fixed  bool         // WithSlowNotice chose notify
}

type slowKey struct{}

// startSlowNotices starts reporting slow steps of a command, until the context is done.
func startSlowNotices(ctx context.Context, log *activity.Log, stderr io.Writer) context.Context {
	notices := &slowNotices{notify: func(text string) { plain.Fprintln(stderr, text) }}
	if say, ok := ctx.Value(sayKey{}).(func(string)); ok {
		notices.notify, notices.fixed = say, true
	}
	go notices.watch(ctx, log)
	return context.WithValue(ctx, slowKey{}, notices)
}

type sayKey struct{}

// WithSlowNotice returns a context for commands that report with this function, although
// their standard error is read only later. say is called from other goroutines.
func WithSlowNotice(ctx context.Context, say func(string)) context.Context {
	return context.WithValue(ctx, sayKey{}, say)
}

// SetSlowNotice replaces the function that reports, unless WithSlowNotice chose it; nil
// mutes.
func SetSlowNotice(ctx context.Context, say func(string)) {
	notices, _ := ctx.Value(slowKey{}).(*slowNotices)
	if notices == nil {
		return
	}
	notices.mu.Lock()
	defer notices.mu.Unlock()
	if say == nil || !notices.fixed {
		notices.notify = say
	}
}

func (n *slowNotices) watch(ctx context.Context, log *activity.Log) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last string
	var lastAt time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text, took, others := log.Lasting(SlowAfter)
		pause := SlowAfter // between different messages
		if text == last {
			pause = slowAgain
		}
		if text == "" || time.Since(lastAt) < pause {
			continue
		}
		last, lastAt = text, time.Now()
		n.notice(text, took, others)
	}
}

func (n *slowNotices) notice(text string, took time.Duration, others int) {
	line := fmt.Sprintf("still %s, after %s", text, took.Truncate(time.Second))
	if others > 0 {
		line += fmt.Sprintf(" (and %d more)", others)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notify != nil {
		n.notify(line)
	}
}
