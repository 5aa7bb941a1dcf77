package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/plain"
)

// What takes long is said while it does, on standard error: a request that gets no
// answer looks like a program that hangs.

// slowAfter is when that is said first, and slowAgain how often after that.
const (
	slowAfter = 10 * time.Second
	slowAgain = 30 * time.Second
)

// slowNotices says what takes long, until it is silenced.
type slowNotices struct {
	mu  sync.Mutex
	say func(string) // nil: silenced
}

type slowKey struct{}

// noticeSlow begins to say what a command waits for, until the context ends.
func noticeSlow(ctx context.Context, log *activity.Log, stderr io.Writer) context.Context {
	notices := &slowNotices{say: func(text string) { plain.Fprintln(stderr, text) }}
	go notices.watch(ctx, log)
	return context.WithValue(ctx, slowKey{}, notices)
}

// saySlow lets another function say it from now on; nil: none.
func saySlow(ctx context.Context, say func(string)) {
	notices, _ := ctx.Value(slowKey{}).(*slowNotices)
	if notices == nil {
		return
	}
	notices.mu.Lock()
	defer notices.mu.Unlock()
	notices.say = say
}

func (n *slowNotices) watch(ctx context.Context, log *activity.Log) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last string
	var said time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text, took, others := log.Lasting(slowAfter)
		pause := slowAfter // between things that differ
		if text == last {
			pause = slowAgain
		}
		if text == "" || time.Since(said) < pause {
			continue
		}
		last, said = text, time.Now()
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
	if n.say != nil {
		n.say(line)
	}
}
