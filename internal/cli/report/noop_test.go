package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/vt"
)

const (
	begins = "applying 2 resources in 2 waves to https://prod (context prod); no SortOrder: references only\n"
	noOp   = "2 ready on https://prod (context prod), in 20ms; 2 unchanged\n"
	total  = "2 ready, in 20ms; 2 unchanged\n"
)

// twoWaves is a run of two unchanged ConfigMaps, each in a wave of its own.
type twoWaves struct {
	plan      *ordering.Plan
	graph     bool                  // there are no waves
	everyLine bool                  // -v
	during    func(*Reporters)      // when the second wave has begun
	ended     func(*events.Outcome) // changes the outcome
}

func configMap(name string) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func twoWavesPlan() *ordering.Plan {
	return &ordering.Plan{
		Waves: []ordering.Wave{{}, {}},
		Steps: []ordering.Step{{ID: configMap("a")}, {ID: configMap("b"), Wave: 1}},
	}
}

func (w twoWaves) run(on *Reporters) {
	start := time.Unix(0, 0)
	on.Begin()
	for i, name := range []string{"a", "b"} {
		e := event.Event{Time: start, ID: configMap(name), Wave: i, Change: event.Change{Unchanged: true}}
		wave := event.Event{Time: start, Wave: i, State: event.Applying, Detail: "1 resource"}
		if !w.graph {
			on.Event(wave)
		}
		if i == 1 && w.during != nil {
			w.during(on)
		}
		for _, state := range []event.State{event.Applying, event.Waiting, event.Ready} {
			e.State = state
			on.Event(e)
		}
		if wave.State, wave.Detail = event.Ready, "10ms"; !w.graph {
			on.Event(wave)
		}
	}
	o := events.Outcome{State: "done", Summary: event.Summary{Took: 20 * time.Millisecond}}
	for _, name := range []string{"a", "b"} {
		o.Summary.Results = append(o.Summary.Results, event.Result{ID: configMap(name), State: event.Ready, Unchanged: true})
	}
	if w.ended != nil {
		w.ended(&o)
	}
	on.End(o)
}

func twoWavesTarget() *connect.Target {
	return &connect.Target{Server: "https://prod", Context: "prod"}
}

// printed returns what the run prints on standard error.
func (w twoWaves) printed(t *testing.T, how Options) string {
	t.Helper()
	if w.plan == nil {
		w.plan = twoWavesPlan()
	}
	var err strings.Builder
	out, errs := files.Pair(&strings.Builder{}, &err)
	p := newPrinter(twoWavesTarget(), Outputs{out, errs}, how)
	p.everyLine = w.everyLine
	var lines Reporter = p
	if how.Quiet {
		lines = quiet{p}
	}
	w.run(NewReporters(w.plan).add(lines))
	require.NoError(t, errs.Close(t.Context()))
	return err.String()
}

// A run that changes nothing and has nothing else to say prints one line, which names the cluster.
func TestANoOpPrintsOneLine(t *testing.T) {
	require.Equal(t, noOp, twoWaves{}.printed(t, Options{}))
	require.Equal(t, noOp, twoWaves{graph: true}.printed(t, Options{}))
	report := func(o *events.Outcome) { o.Page = "run.html" }
	require.Equal(t, noOp+"the page of this run: run.html\n", twoWaves{ended: report}.printed(t, Options{}))
}

// With anything else to say, the first line comes before it.
func TestTheFirstLineComesBeforeTheOthers(t *testing.T) {
	changed := event.Event{ID: configMap("b"), Wave: 1}
	waits := changed
	waits.State, waits.Unchanged, waits.Detail = event.Waiting, true, "Ready: 0/1"
	noted, skipped := twoWavesPlan(), twoWavesPlan()
	noted.Notes = []string{"a word"}
	skipped.Skipped = []ordering.Skipped{{ID: configMap("c")}}
	for name, c := range map[string]struct {
		twoWaves
		says string
	}{
		"a note of the plan": {twoWaves{plan: noted}, "note: a word\n"},
		"left out":           {twoWaves{plan: skipped}, "ConfigMap shop/c"},
		"a changed resource": {twoWaves{during: func(on *Reporters) {
			for _, changed.State = range []event.State{event.Applying, event.Waiting} {
				on.Event(changed)
			}
		}}, "wave 2/2: 1 resource\n"},
		"a wait": {twoWaves{during: func(on *Reporters) {
			on.Event(waits)
			on.Event(waits)
		}}, "  ConfigMap shop/b  waiting: Ready: 0/1\n"},
		"a hook": {twoWaves{during: func(on *Reporters) {
			on.Event(event.Event{Hook: &event.Hook{Event: "pre-upgrade", Count: 1}})
		}}, "pre-upgrade: 1 hook\n"},
		"a warning":           {twoWaves{ended: func(o *events.Outcome) { o.Warnings = []string{"old"} }}, "warning from the server: old\n"},
		"an incomplete trace": {twoWaves{ended: func(o *events.Outcome) { o.Untraced = errors.New("lost") }}, "warning: the trace is incomplete: lost\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.printed(t, Options{})
			require.True(t, strings.HasPrefix(text, begins), text)
			require.Contains(t, text, c.says)
			require.True(t, strings.HasSuffix(text, "\n"+total), text)
		})
	}
	failed := func(o *events.Outcome) { o.State, o.Summary.Results = "failed", nil }
	require.Equal(t, begins, twoWaves{ended: failed}.printed(t, Options{}), "the errors come below it")
	failed = func(o *events.Outcome) { o.State = "failed" }
	require.Equal(t, begins+total, twoWaves{ended: failed}.printed(t, Options{}))
}

// Dry runs, rollbacks and runs with -v begin with the first line, runs with -q have none.
func TestNoOpsOfOtherKinds(t *testing.T) {
	require.Equal(t, begins+total, twoWaves{}.printed(t, Options{Rollback: true}))
	require.Equal(t, begins+total, twoWaves{}.printed(t, Options{DryRun: true}))
	require.True(t, strings.HasPrefix(twoWaves{everyLine: true}.printed(t, Options{}), begins+"wave 1/2: 1 resource\n"))
	require.Equal(t, total, twoWaves{}.printed(t, Options{Quiet: true}))
}

// drawn returns what is left on a terminal after the run.
func (w twoWaves) drawn(t *testing.T) string {
	t.Helper()
	if w.plan == nil {
		w.plan = twoWavesPlan()
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	require.NoError(t, err)
	defer file.Close()
	out, errs := files.Pair(&strings.Builder{}, &strings.Builder{})
	p := newPrinter(twoWavesTarget(), Outputs{out, errs}, Options{})
	view := newLive(t.Context(), console.New(nil, file, file), p, p, terminal.ViewOptions{Graph: w.graph}, file)
	on := NewReporters(w.plan).add(view)
	on.live = view
	w.run(on)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	screen := vt.New(120, 24)
	_, err = screen.Write([]byte(strings.ReplaceAll(string(text), "\n", "\r\n")))
	require.NoError(t, err)
	return screen.Text() + "\n"
}

// The same holds for what stays on a terminal: also the lines of waves in which nothing changes
// come only with others.
func TestANoOpLeavesOneLineOnATerminal(t *testing.T) {
	require.Equal(t, noOp, twoWaves{}.drawn(t))
	require.Equal(t, noOp, twoWaves{graph: true}.drawn(t))
	const waves = "wave 1/2: 1 ready in 0s\nwave 2/2: 1 ready in 0s\n"
	changed := event.Event{Time: time.Unix(0, 0), ID: configMap("b"), Wave: 1}
	require.Equal(t, begins+waves+total, twoWaves{during: func(on *Reporters) {
		for _, changed.State = range []event.State{event.Applying, event.Waiting} {
			on.Event(changed)
		}
	}}.drawn(t))
	require.Equal(t, begins+"wave 1/2: 1 ready in 0s\na message\nwave 2/2: 1 ready in 0s\n"+total, twoWaves{during: func(on *Reporters) {
		_, _ = on.Messages(nil).Write([]byte("a message\n"))
	}}.drawn(t))
	failed := func(o *events.Outcome) { o.State, o.Summary.Results = "failed", nil }
	require.Equal(t, begins+waves, twoWaves{ended: failed}.drawn(t))
}

// A run that takes longer shows after a while what it does.
func TestALongNoOpHasAFirstLine(t *testing.T) {
	t.Parallel()
	long := twoWaves{during: func(*Reporters) { time.Sleep(firstLineAfter + 500*time.Millisecond) }}
	t.Run("in a pipe", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, begins+total, long.printed(t, Options{}))
	})
	t.Run("on a terminal", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, begins+"wave 1/2: 1 ready in 0s\nwave 2/2: 1 ready in 0s\n"+total, long.drawn(t))
	})
}
