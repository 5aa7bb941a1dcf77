package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// An error with several lines cannot forge a change: all lines after its first
// are marked.
func TestErrorsOfDiffAreEscaped(t *testing.T) {
	row := preview.Row{Err: &event.Error{Err: errors.New("refused\n+ data.x: \"forged\"\r\n\x1b[31mred\n")}}
	require.Equal(t, []detail{{text: "refused"}, {text: `  | + data.x: "forged"`}, {text: "  |  [31mred"}}, details(row))
}

// A reason that is too wide for the terminal continues below itself, or below the name where
// there is no room next to it.
func TestReasonsWrap(t *testing.T) {
	why := ordering.Reason{Detail: "after ServiceAccount api (serviceAccountName)"}
	row := func(columns int) string {
		return Style{columns: columns}.row("  update     ", 0, 14, "Secret shop/db", why)
	}
	require.Equal(t, "  update     Secret shop/db  after ServiceAccount api (serviceAccountName)\n", row(0))
	require.Equal(t, "  update     Secret shop/db  after ServiceAccount api\n"+
		"                             (serviceAccountName)\n", row(56))
	require.Equal(t, "  update     Secret shop/db\n"+
		"             after ServiceAccount api\n"+
		"             (serviceAccountName)\n", row(40))
	require.Equal(t, "  update     Secret shop/db\n", Style{}.row("  update     ", 0, 16, "Secret shop/db", ordering.Reason{}))
	require.Equal(t, "  update     Secret shop/db\n"+
		"                        after ServiceAccount api (serviceAccountName)\n", Style{columns: 80}.row("  update     ", 0, 9, "Secret shop/db", why), "the name is wider than its column")
}

// An action and the fields that it adds or removes have the colours of the live view.
func TestColours(t *testing.T) {
	how := Style{shade: func(line terminal.Line) string { return fmt.Sprint("<", line.Mood, ">", line.Text) }}
	p := previewOf("app", preview.Row{ID: object.ID{Kind: "ConfigMap", Name: "a"}, Action: preview.ActionUpdate, Live: configMap("a", "b"), Merged: configMap("a", "c")})
	p.Preview.Rows[0].Merged.SetLabels(map[string]string{"d": "e"})
	var b strings.Builder
	require.NoError(t, p.WriteText(&b, how))
	require.Contains(t, b.String(), "<2>  update     ConfigMap a\n"+detailIndent+"<0>data.text: b -> c\n"+detailIndent+"<4>+ metadata.labels: ")
}

// Only changes are listed; a wave without any is left out, and what would be kept has a reason.
func TestOnlyChangesAreListed(t *testing.T) {
	id := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Name: name} }
	plan := &ordering.Plan{
		Steps: []ordering.Step{{ID: id("first")}, {ID: id("a"), Wave: 1, Needs: []ordering.Need{{ID: id("b")}}}, {ID: id("b"), Wave: 1}},
		Waves: []ordering.Wave{{}, {}},
		Hooks: []ordering.PlannedHook{{Event: "pre-upgrade", ID: id("before")}, {Event: "post-upgrade", ID: id("after")}},
	}
	p := Previewed{Plan: plan, Preview: &preview.Preview{Rows: []preview.Row{
		{ID: id("first"), Action: preview.ActionUnchanged},
		{ID: id("a"), Wave: 1, Action: preview.ActionUpdate},
		{ID: id("b"), Wave: 1, Action: preview.ActionCreate},
		{ID: id("old"), Wave: -1, Action: preview.ActionUnchanged, Detail: "kept: it is protected"},
	}}}
	text := func(how Style) string {
		var b strings.Builder
		require.NoError(t, p.WriteText(&b, how))
		return b.String()
	}
	require.Equal(t, `pre-upgrade hook ConfigMap before, weight 0
wave 2/2
  create     ConfigMap b
  update     ConfigMap a
after the last wave
  unchanged  ConfigMap old
             kept: it is protected
post-upgrade hook ConfigMap after, weight 0
1 create, 1 update, 2 unchanged
`, text(Style{}))
	require.Contains(t, text(Style{All: true}), "wave 1/2\n  unchanged  ConfigMap first\nwave 2/2\n")
}

// Without a terminal, a plan looks alike wherever it is printed.
func TestOnePrinterOfPlans(t *testing.T) {
	id := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Name: name} }
	planned := &ordering.Plan{
		Steps: []ordering.Step{
			{ID: id("a"), Why: ordering.Reason{Rule: ordering.RuleReferences, Detail: "no dependencies in this stream"}},
			{ID: id(strings.Repeat("long", 20)), Why: ordering.Reason{Rule: "layer", Detail: "shop/web"}},
			{ID: id("hostile\x1b"), Wave: 1, Why: ordering.Reason{Detail: "two\nlines"}},
		},
		Waves:   []ordering.Wave{{Name: "web"}, {}},
		Hooks:   []ordering.PlannedHook{{Event: "pre-install", ID: id("before")}},
		Skipped: []ordering.Skipped{{ID: id("left"), Why: ordering.Reason{Detail: "a test"}}},
		Notes:   []string{"a note"},
	}
	var text, waves strings.Builder
	require.NoError(t, planned.WriteText(&text))
	require.NoError(t, WriteWaves(&waves, planned, Style{}))
	require.Equal(t, text.String(), waves.String())
	require.Contains(t, text.String(), "\n  ConfigMap a\n", "the reason tells no more than the wave")
}
