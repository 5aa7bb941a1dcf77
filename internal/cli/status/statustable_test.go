package status

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/vt"
)

// shopStatus returns a set with three layers, one failed Deployment and one
// missing ConfigMap.
func shopStatus() *setStatus {
	id := func(kind, name string) object.ID { return object.ID{Kind: kind, Namespace: "shop", Name: name} }
	return &setStatus{
		Set:      id("Secret", "shop"),
		Revision: &history.Revision{Number: 3, Status: history.Failed, Created: time.Date(2026, 3, 1, 9, 6, 0, 0, time.UTC)},
		Sections: []section{
			{Name: "base", Members: []member{
				{ID: id("ConfigMap", "settings"), Verdict: health.Missing, Reason: "it does not exist, or is no longer a member of the set"},
				{ID: id("Secret", "login"), Verdict: health.Ready},
			}},
			{Name: "data", Members: []member{{ID: id("Service", "db"), Verdict: health.Ready}}},
			{Name: "web", Members: []member{{ID: id("Deployment", "web"), Verdict: health.Failed, Reason: "Progress deadline exceeded"}}},
		},
	}
}

// Title and notes are wrapped; other lines are cut. Drawing leaves nothing of
// the previous content.
func TestStatusTableOnAScreen(t *testing.T) {
	shown := vt.New(80, 12)
	screen := terminal.NewScreen(shown, false)
	draw := func(s *setStatus, fault error) string {
		require.NoError(t, screen.Draw("", s.lines(fault, 79, 11), 80, 12))
		require.True(t, shown.Sane())
		return shown.Text()
	}
	s := shopStatus()
	const plain = `apply set Secret shop/shop, revision 3, failed, created 2026-03-01T09:06:00Z
LAYER  READY  HEALTH    WORST
base   1/2    Degraded  ConfigMap shop/settings: missing: it does not exist, o…
data   1/1    Healthy
web    0/1    Failed    Deployment shop/web: failed: Progress deadline exceeded
all    2/4    Failed`
	require.Equal(t, plain, draw(s, nil))
	require.Equal(t, plain+`
note: the API server at https://127.0.0.1:6443 does not answer: connection
  refused; trying again`, draw(s, errors.New("the API server at https://127.0.0.1:6443 does not answer: connection refused")))
	s.Notes = []string{"one", strings.Repeat("a remark \x1b[2J of many words ", 12)}
	require.Equal(t, plain+`
note: one
note: a remark [2J of many words a remark [2J of many words a remark [2J of
  many words a remark [2J of many words a remark [2J of many words a remark [2J
  of many words a remark [2J of many words a remark [2J of many words a remark
… 2 more lines`, draw(s, nil))
	require.Equal(t, plain, draw(shopStatus(), nil))

	moods := map[string]terminal.Mood{}
	for _, line := range shopStatus().lines(nil, 60, 20) {
		moods[line.Text] = line.Mood
	}
	require.Equal(t, terminal.Neutral, moods["  2026-03-01T09:06:00Z"])
	require.Equal(t, terminal.Good, moods["data   1/1    Healthy"])
	require.Equal(t, terminal.Bad, moods["web    0/1    Failed    Deployment shop/web: failed: Progress deadline exceeded"])
	require.Equal(t, terminal.Neutral, moods["all    2/4    Failed"])
}

// A report of a slow request is printed above the table, before and after it was drawn.
func TestSlowRequestAboveTheTable(t *testing.T) {
	shown := vt.New(80, 24)
	none, err := os.Open(os.DevNull) // its size is unknown: 80 columns and 24 rows
	require.NoError(t, err)
	defer none.Close()
	table := &statusTable{on: none, screen: terminal.NewScreen(shown, false), drawRequests: make(chan func() error), finished: make(chan struct{})}
	reportSlow := func(text string) {
		go table.printAbove(text)
		require.NoError(t, (<-table.redraws())())
	}
	reportSlow("still reading Secret shop, after 10s")
	s := shopStatus()
	s.Sections = s.Sections[1:2]
	require.NoError(t, table.show(s))
	reportSlow("still listing \x1b[2Jconfigmaps, after 10s")
	require.NoError(t, table.trouble(errors.New("connection refused")))
	require.True(t, shown.Sane())
	require.Equal(t, `still reading Secret shop, after 10s
still listing  [2Jconfigmaps, after 10s
apply set Secret shop/shop, revision 3, failed, created 2026-03-01T09:06:00Z
LAYER  READY  HEALTH   WORST
data   1/1    Healthy
all    1/1    Healthy
note: connection refused; trying again`, shown.Text())
	close(table.finished)
	table.printAbove("a report after the end blocks nothing")
}

// Outside a terminal a note is printed once, and unchanged members are not
// printed.
func TestStatusLines(t *testing.T) {
	var out, errs bytes.Buffer
	lines := &statusLines{out: &out, errs: &errs, print: printChanges}
	show := func(s *setStatus) string {
		out.Reset()
		require.NoError(t, lines.show(s))
		return out.String()
	}
	require.Equal(t, 6, strings.Count(show(shopStatus()), "\n"))
	require.Empty(t, show(shopStatus()))
	s := shopStatus()
	s.Notes = []string{"a remark"}
	require.Equal(t, "note: a remark\n", show(s))
	s = shopStatus()
	s.Notes, s.Sections[0].Members[0].Verdict = []string{"a remark"}, health.Ready
	require.Equal(t, "ConfigMap shop/settings: ready\nbase: Healthy, 2/2 ready\n", show(s))

	for _, err := range []error{errors.New("away"), errors.New("away"), errors.New("still away"), nil} {
		require.NoError(t, lines.trouble(err))
	}
	require.Equal(t, "away; trying again\nstill away; trying again\nthe apply set can be read again\n", errs.String())
}
