package terminal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Each testdata/*.txtar is a plan, the events of a run, and its display: a
// section "80x24 at 12s" is the frame after the events until then, "stays" are
// the permanent lines at the end. `make golden` updates the display.
func TestFrames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			play(t, archive)
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			want, err := txtar.ParseFile(file)
			require.NoError(t, err)
			for i, section := range want.Files {
				require.Equal(t, string(section.Data), string(archive.Files[i].Data), "%s: %s", file, section.Name)
			}
		})
	}
}

func start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// play runs the events of a case and writes the display into its sections.
func play(t *testing.T, archive *txtar.Archive) {
	t.Helper()
	options := ViewOptions{WaveTimeout: 5 * time.Minute}
	var v *View
	var events []string
	var stays strings.Builder
	for i := range archive.Files {
		section := &archive.Files[i]
		switch section.Name {
		case "graph":
			options.Graph = true
		case "last run":
			var last track.RunTimes
			require.NoError(t, json.Unmarshal(section.Data, &last))
			v.Compare(last)
		case "plan":
			v = NewView(track.New(parsePlan(t, string(section.Data)), start()), options)
		case "events":
			events = strings.Split(strings.TrimSpace(string(section.Data)), "\n")
		case "stays":
			playUntil(t, v, &events, time.Hour, &stays)
			section.Data = []byte(stays.String())
		default:
			var columns, rows int
			var clock string
			_, err := fmt.Sscanf(section.Name, "%dx%d at %s", &columns, &rows, &clock)
			require.NoError(t, err, section.Name)
			at := duration(t, clock)
			playUntil(t, v, &events, at, &stays)
			lines := v.Frame(columns, rows, start().Add(at))
			require.Less(t, len(lines), rows)
			section.Data = []byte(shown(t, lines, columns))
		}
	}
}

// shown marks lines by their mood: ! bad, * busy, . faint, + good.
func shown(t *testing.T, lines []Line, columns int) string {
	var b strings.Builder
	for _, line := range lines {
		text := Clip(line.Text, columns-1)
		require.Less(t, Width(text), columns)
		fmt.Fprintf(&b, "%c|%s\n", " !*.+"[line.Mood], text)
	}
	return b.String()
}

func playUntil(t *testing.T, v *View, events *[]string, until time.Duration, stays *strings.Builder) {
	t.Helper()
	for len(*events) > 0 {
		clock, what, _ := strings.Cut((*events)[0], " ")
		at := duration(t, clock)
		if at > until {
			return
		}
		*events = (*events)[1:]
		for _, line := range applyEvent(t, v, start().Add(at), what) {
			fmt.Fprintf(stays, "%c|%s\n", " !*.+"[line.Mood], line.Text)
		}
	}
}

// applyEvent parses "wave 2", "wave 2 deleting", "wave 2 ready", "interrupt",
// "end", or "Kind name state: detail".
func applyEvent(t *testing.T, v *View, at time.Time, what string) []Line {
	t.Helper()
	var wave int
	var rest string
	switch n, _ := fmt.Sscanf(what, "wave %d %s", &wave, &rest); {
	case n == 1:
		return v.Take(event.Event{Time: at, Wave: wave - 1, State: event.Applying})
	case n == 2:
		return v.Take(event.Event{Time: at, Wave: wave - 1, State: event.State(rest)})
	case what == "interrupt":
		v.Interrupt()
		return nil
	case what == "end":
		return v.End()
	}
	what, detail, _ := strings.Cut(what, ": ")
	words := strings.SplitN(what, " ", 3)
	require.Len(t, words, 3, what)
	id := parseID(t, words[0]+" "+words[1])
	_, planned := v.run.Index(id)
	require.True(t, planned, what)
	return v.Take(event.Event{Time: at, ID: id, State: event.State(words[2]), Detail: detail})
}

// parsePlan parses waves and their resources; "<- X" needs X ready, "<~ X"
// applied. "by 3" means ready by wave 3 only, "by none" blocks no wave.
func parsePlan(t *testing.T, text string) *ordering.Plan {
	t.Helper()
	plan := &ordering.Plan{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "wave"); ok {
			plan.Waves = append(plan.Waves, ordering.Wave{Name: strings.TrimSpace(name)})
			continue
		}
		step := ordering.Step{Wave: len(plan.Waves) - 1, ReadyBy: len(plan.Waves) - 1}
		if who, by, ok := strings.Cut(line, " by "); ok {
			line = who
			if wave, err := strconv.Atoi(by); err == nil {
				step.ReadyBy = wave - 1
			} else {
				step.Gate = ordering.Applied
			}
		}
		for arrow, gate := range map[string]ordering.Gate{" <- ": ordering.Ready, " <~ ": ordering.Applied} {
			if who, needed, ok := strings.Cut(line, arrow); ok {
				line = who
				step.Needs = []ordering.Need{{ID: parseID(t, needed), Gate: gate}}
			}
		}
		step.ID = parseID(t, line)
		plan.Steps = append(plan.Steps, step)
	}
	return plan
}

func parseID(t *testing.T, text string) object.ID {
	t.Helper()
	kind, name, ok := strings.Cut(text, " ")
	require.True(t, ok, text)
	id := object.ID{Name: strings.ReplaceAll(name, `\e`, "\x1b")}
	id.Kind, id.Group, _ = strings.Cut(kind, ".")
	if namespace, inner, ok := strings.Cut(id.Name, "/"); ok {
		id.Namespace, id.Name = namespace, inner
	}
	return id
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// In a frame of any width each row has its clock, and a mark if it failed.
func TestNarrowFramesKeepWhatMatters(t *testing.T) {
	plan := parsePlan(t, "wave\nStatefulSet.apps shop/database-of-the-shop\nDeployment.apps shop/queue\nwave\nJob.batch shop/migrate <- StatefulSet.apps shop/database-of-the-shop\n")
	v := NewView(track.New(plan, start()), ViewOptions{WaveTimeout: time.Minute})
	applyEvent(t, v, start(), "wave 1")
	applyEvent(t, v, start(), "StatefulSet.apps shop/database-of-the-shop applying")
	applyEvent(t, v, start(), "Deployment.apps shop/queue applying")
	applyEvent(t, v, start().Add(time.Second), "Deployment.apps shop/queue failed: it crashed again and again, and says so at length")
	for columns := 20; columns < narrowWidth; columns++ {
		lines := v.Frame(columns, 24, start().Add(134*time.Second))
		second := 2
		for strings.HasPrefix(lines[second].Text, "    ") { // the words of the first
			second++
		}
		failed, waits := Clip(lines[1].Text, columns-1), Clip(lines[second].Text, columns-1)
		require.Regexp(t, `^! .*queue +1s`, failed)
		require.Regexp(t, `^  .*data.* 2m14s`, waits)
		for _, line := range append(lines[:1:1], lines[second+1:]...) {
			require.LessOrEqual(t, Width(line.Text), columns-1, "it is cut: %s", line.Text)
			require.NotContains(t, line.Text, "…")
		}
	}
}

// Every frame fits, and no line of it can move the cursor.
func TestFramesFit(t *testing.T) {
	states := []event.State{event.Applying, event.Waiting, event.Ready, event.Failed, event.TimedOut, event.Skipped, event.NotStarted, event.Applied}
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 7))
		plan := &ordering.Plan{}
		for w := range 1 + rng.IntN(6) {
			plan.Waves = append(plan.Waves, ordering.Wave{Name: strings.Repeat("w\x1b", rng.IntN(20))})
			for i := range 1 + rng.IntN(40) {
				s := ordering.Step{Wave: w, ID: object.ID{Kind: "Kind", Name: fmt.Sprintf("\x1b[2J%s%d-%d", strings.Repeat("世", rng.IntN(40)), w, i)}}
				if n := len(plan.Steps); n > 0 && rng.IntN(2) == 0 {
					s.Needs = []ordering.Need{{ID: plan.Steps[rng.IntN(n)].ID, Gate: ordering.Ready}}
				}
				plan.Steps = append(plan.Steps, s)
			}
		}
		v := NewView(track.New(plan, start()), ViewOptions{Graph: seed%3 == 0, WaveTimeout: time.Minute})
		now := start()
		for range 200 {
			now = now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
			e := event.Event{Time: now, Wave: rng.IntN(len(plan.Waves)), State: event.Applying}
			if rng.IntN(10) > 0 {
				e.ID, e.State, e.Detail = plan.Steps[rng.IntN(len(plan.Steps))].ID, states[rng.IntN(len(states))], strings.Repeat("\n\x07", rng.IntN(3))
			}
			columns, rows := 1+rng.IntN(120), 1+rng.IntN(40)
			text, stays, frame := "", v.Take(e), v.Frame(columns, rows, now)
			for _, line := range append(stays, frame...) {
				text += line.Text + "\n"
			}
			require.LessOrEqual(t, len(frame), rows)
			require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }), text)
		}
	}
}
