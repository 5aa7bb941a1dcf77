package run

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/view/events"
)

// tally holds the facts about a cluster's run, from its lines.
type tally struct {
	total, waves int // of the plan
	final        int // resources with a final state
	wave         int // that is open, from 1
	waveName     string
	wrote        bool // something was written, or a hook ran
	rolledBack   bool
	counts       map[string]int // at the end
}

// take reads a line of the run.
func (t *tally) take(g events.Glance) {
	switch g.Type {
	case events.TypeRunStart:
		t.total, t.waves = g.Total, g.Waves
	case events.TypeRollbackStart:
		t.total, t.waves, t.final, t.wave = g.Total, g.Waves, 0, 0
		t.rolledBack, t.wrote = true, true
	case events.TypeWaveStart:
		t.wave, t.waveName = g.Wave, g.Name
	case events.TypeHook, events.TypeHookLog:
		t.wrote = true
	case events.TypeResource:
		if g.Final {
			t.final++
			t.wrote = t.wrote || !g.Unchanged
		}
	case events.TypeRunEnd:
		t.counts = g.Counts
	}
}

// words describes the resources at the end of a run: "18 ready, 1 failed".
func (t *tally) words() string {
	text := countsText(t.counts)
	if t.rolledBack {
		text += "; rolled back"
	}
	return text
}

// countsText returns numbers by state, the most important after a success first.
func countsText(counts map[string]int) string {
	order := []string{"ready", "applied", "deleted", "kept", "deferred", "failed", "timedOut", "skipped", "notStarted", "unsettled"}
	words := map[string]string{"timedOut": "timed out", "notStarted": "not started"}
	states := sortedKeys(counts)
	slices.SortStableFunc(states, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
	var parts []string
	for _, state := range states {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], cmp.Or(words[state], state)))
	}
	return strings.Join(parts, ", ")
}

// outcomeText describes the outcome of a cluster's run.
func outcomeText(o fleet.Outcome, t *tally) string {
	parts := []string{}
	switch {
	case o.State == fleet.TimedOut:
		parts = append(parts, "timed out")
	case o.State != fleet.Done:
		parts = append(parts, string(o.State))
	}
	if words := t.words(); words != "" {
		parts = append(parts, words)
	}
	text := strings.Join(parts, ": ")
	if o.State == fleet.Done && o.Unchanged {
		text += ", unchanged"
	}
	return fmt.Sprintf("%s (%s)", text, rounded(o.Took()))
}

// rounded returns a duration to 0.1s, from a minute on to 1s.
func rounded(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// lineWriter calls each for whole lines, without the newline. A run writes from several
// goroutines.
type lineWriter struct {
	each func(line []byte)

	mu   sync.Mutex
	rest []byte
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if !found {
			w.rest = append(w.rest, p...)
			return n, nil
		}
		if len(w.rest) > 0 {
			line = append(w.rest, line...)
			w.rest = nil
		}
		w.each(line)
		p = rest
	}
}

// Close passes on the text after the last newline.
func (w *lineWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.each(w.rest)
		w.rest = nil
	}
}
