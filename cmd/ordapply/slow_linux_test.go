package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
)

// A request without a response is reported on standard error after 10 seconds,
// with and without --timeout, while the command continues to wait.
func TestSlowStepsAreReported(t *testing.T) {
	cluster := battered.Get(t)
	var waiting sync.WaitGroup
	tried := map[string]*hungPhase{}
	for name, p := range phases() {
		if name != "prune" && name != "delete a set" && name != "rollback" {
			continue
		}
		h := newHungPhase(t, cluster, "slow-"+strings.ReplaceAll(name, " ", "-"), p, true)
		tried[name] = h
		waiting.Go(func() {
			interrupted, interrupt := context.WithCancelCause(t.Context())
			time.AfterFunc(console.SlowAfter+waits, func() { interrupt(abortable.Interruption{}) })
			h.ended = h.watched(interrupted, h.args...)
		})
	}
	waiting.Wait()
	for name, h := range tried {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, report.ExitInterrupted, h.ended.code, h.ended.output)
			require.Regexp(t, "(?m)^"+h.words.Replace("still "+h.doing)+"[^\n]*, after 1\\ds$", h.ended.output)
			require.Equal(t, 1, strings.Count(h.ended.output, "still "), "once, not every second: %s", h.ended.output)
		})
	}
}
