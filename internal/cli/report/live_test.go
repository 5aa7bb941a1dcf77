package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/vt"
)

// A message that comes while frames are drawn stays above them.
func TestMessageAboveFrames(t *testing.T) {
	drawn, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	require.NoError(t, err)
	defer drawn.Close()
	shows := func() string {
		text, err := os.ReadFile(drawn.Name())
		require.NoError(t, err)
		screen := vt.New(80, 24)
		_, err = screen.Write([]byte(strings.ReplaceAll(string(text), "\n", "\r\n")))
		require.NoError(t, err)
		return screen.Text()
	}
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}, Steps: []ordering.Step{{ID: object.ID{Kind: "Namespace", Name: "shop"}}}}
	out, errs := files.Pair(&strings.Builder{}, &strings.Builder{})
	p := newPrinter(&connect.Target{}, Outputs{out, errs}, Options{})
	view := newLive(t.Context(), console.New(nil, drawn, drawn), p, p, terminal.ViewOptions{}, drawn)
	reporters := NewReporters(plan).add(view)
	reporters.live = view
	reporters.Begin()
	require.Eventually(t, func() bool { return strings.Contains(shows(), "0 of 1 ready") }, time.Minute, time.Millisecond)
	plain.Fprintln(reporters.Messages(drawn), "warning: an order is lost")
	require.Eventually(t, func() bool { return strings.Contains(shows(), "warning: an order is lost\n") }, time.Minute, time.Millisecond)
	reporters.End(events.Outcome{})
	require.Equal(t, "applying 1 resource in 1 wave to ; no SortOrder: references only\nwarning: an order is lost", shows(), "a frame is left")
}
