package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// printed returns the lines about resources that a run of n CustomResourceDefinitions and a
// Namespace prints: each is applied, waits, and is ready the later the later it comes; the
// one with the number failing is refused.
func printed(t *testing.T, n, failing int, everyLine bool) []string {
	var b strings.Builder
	_, err := files.Pair(&strings.Builder{}, &b)
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}}
	ids := []object.ID{{Kind: "Namespace", Name: "shop"}}
	for i := range n {
		ids = append(ids, object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: fmt.Sprintf("c%02d", i)})
	}
	for _, id := range ids {
		plan.Steps = append(plan.Steps, ordering.Step{ID: id})
	}
	p := newPrinter(&connect.Target{}, Outputs{Out: err, Err: err}, Options{})
	p.everyLine, p.results = everyLine, noResults
	start := time.Unix(0, 0)
	run := NewReporters(plan).add(p)
	run.Begin()
	send := func(after time.Duration, id object.ID, state event.State, detail string) {
		run.Event(event.Event{Time: start.Add(after), ID: id, State: state, Detail: detail})
	}
	send(0, object.ID{}, event.Applying, "opens")
	for i, id := range ids {
		send(0, id, event.Applying, "")
		if i == failing {
			send(time.Millisecond, id, event.Failed, "refused")
			continue
		}
		send(time.Millisecond, id, event.Waiting, "")
		send(2*time.Millisecond, id, event.Waiting, "not established")
	}
	for i, id := range ids {
		if i != failing {
			send(time.Duration(i+1)*100*time.Millisecond, id, event.Ready, "")
		}
	}
	run.End(events.Outcome{})
	require.NoError(t, err.Close(t.Context()))
	var lines []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return lines
}

// Of many CustomResourceDefinitions in a wave the first has lines of its own, and so has one
// that is refused. The others share lines, which appear within seconds.
func TestManyAlikeShareALine(t *testing.T) {
	require.Equal(t, []string{
		"Namespace shop waiting: not established",
		"CustomResourceDefinition c00 waiting: not established",
		"CustomResourceDefinition c04 failed: refused",
		"Namespace shop ready (100ms)",
		"CustomResourceDefinition c00 ready (200ms)",
		"CustomResourceDefinition (30 more) waiting: not established",
		"CustomResourceDefinition (19 more) ready (2.2s), the slowest: c20",
		"CustomResourceDefinition (20 more) ready (4.2s), the slowest: c40",
		"CustomResourceDefinition (9 more) ready (5.1s), the slowest: c49",
	}, printed(t, 50, 5, false))
}

// Few have a line each, and with -v so have many.
func TestFewHaveALineEach(t *testing.T) {
	require.Len(t, printed(t, 10, -1, false), 2*11)
	require.Len(t, printed(t, 50, -1, true), 2*51)
}
