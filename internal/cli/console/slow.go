package console

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
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
	fixed  bool         // notify stays
}

// begin reports with this function.
func (n *slowNotices) begin(notify func(string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notify == nil {
		n.notify = notify
	}
}

// replace reports with another function; nil mutes.
func (n *slowNotices) replace(notify func(string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if notify == nil || !n.fixed {
		n.notify = notify
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
