package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// previewOf returns a preview of rows, all in the first wave.
func previewOf(layer string, rows ...preview.Row) *Previewed {
	return &Previewed{
		Target:  &connect.Target{Server: "https://127.0.0.1:6443", Context: "shop"},
		Plan:    &ordering.Plan{Waves: []ordering.Wave{{Name: layer}}, Notes: []string{"a note with ``` and @everyone"}},
		Preview: &preview.Preview{Rows: rows},
	}
}

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"text": value},
	}}
}

// Text that tries to end its block stays in it: TestMarkdown compares the whole comment
// with testdata/plan.md, and looks for text that must be in a block.
func TestMarkdown(t *testing.T) {
	forged := "red\n```\n</details>\n\n# Approved by @owner\n<script>\n````\n"
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	p := previewOf("</h4># @team\n",
		preview.Row{ID: id, Action: preview.ActionUpdate, Why: ordering.Reason{Rule: "layer", Detail: "<b>shop</b>"}, Live: configMap("settings", "blue"), Merged: configMap("settings", forged)},
		preview.Row{ID: id, Action: preview.ActionUnchanged},
		preview.Row{ID: id, Action: preview.ActionCreate, Detail: "</p><img src=x>", Merged: configMap("settings", "new")},
		preview.Row{ID: id, Action: preview.ActionError, Err: &event.Error{ID: id, Err: errors.New("refused\n```\n# forged")}},
	)
	var out strings.Builder
	require.NoError(t, p.WriteMarkdown(&out, CommentSize))
	golden := filepath.Join("testdata", "plan.md")
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "ORDAPPLY_GOLDEN=1 rewrites it")

	outside := outsideFences(out.String())
	require.NotRegexp(t, `(?m)^\s*(#|- |\* |>|`+"```"+`)`, outside, "a line of Markdown")
	for _, no := range []string{"@owner", "<script>", "<img", "<b>shop", "everyone", "forged"} {
		require.NotContains(t, outside, no)
	}
	require.Equal(t, strings.Count(outside, "<details"), strings.Count(outside, "</details>"))
}

// outsideFences returns the lines of Markdown that are in no fenced block, by the rules
// of CommonMark: a fence ends with one that is at least as long.
func outsideFences(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(strings.TrimLeft(line, " "), "\n ")
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && len(ticks) >= len(fence) && ticks == trimmed:
			fence = ""
		case fence == "":
			out.WriteString(line)
		}
	}
	return out.String()
}

// A comment stays below GitHub's limit, and names its omissions.
func TestMarkdownIsLimited(t *testing.T) {
	var rows []preview.Row
	for i := range 300 {
		rows = append(rows, preview.Row{
			ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Action: preview.ActionCreate,
			Merged: configMap("c", strings.Repeat("x ", 500)),
		})
	}
	out := markdownOf(t, previewOf("web", rows...))
	require.Equal(t, 300, strings.Count(out, "<b>create</b> <code>ConfigMap c"), "every resource has a line")
	has(t, out, `diff of 1\.\d KB not shown`, "300 create")

	for i := range 3000 {
		rows = append(rows, preview.Row{ID: object.ID{Kind: "Secret", Name: fmt.Sprint("s", i)}, Action: preview.ActionPrune})
	}
	out = markdownOf(t, previewOf("web", rows...))
	has(t, out, `Not listed, because the comment would be too large: <code>2\d\d\d Secret</code>`)
}

// has requires a long text to match patterns; a failure prints only the pattern.
func has(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		require.True(t, regexp.MustCompile(pattern).MatchString(text), "%s", pattern)
	}
}

// However small the comment, it names its omissions.
func TestMarkdownOfAnySize(t *testing.T) {
	var rows []preview.Row
	for i := range 50 {
		rows = append(rows, preview.Row{ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Action: preview.ActionCreate, Merged: configMap("c", strings.Repeat("x ", 500))})
	}
	for size := MinCommentSize; size < 20_000; size += 777 {
		var out strings.Builder
		require.NoError(t, previewOf("web", rows...).WriteMarkdown(&out, size))
		require.LessOrEqual(t, out.Len(), size)
		listed := strings.Count(out.String(), "<b>create</b> <code>ConfigMap c")
		if listed < 50 {
			has(t, out.String(), fmt.Sprintf("Not listed, .*<code>%d ConfigMap</code>", 50-listed))
		}
	}
}

// markdownOf returns a comment of a size that GitHub takes.
func markdownOf(t *testing.T, p *Previewed) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, p.WriteMarkdown(&out, CommentSize))
	require.Less(t, out.Len(), 65_536)
	return out.String()
}

// A resource cannot be hidden by making it, its name or others large, and grants of
// permissions are listed first.
func TestMarkdownHidesNothing(t *testing.T) {
	binding := configMap("backdoor", "x")
	binding.SetAnnotations(map[string]string{"large": strings.Repeat("<", 66_000)})
	granting := preview.Row{ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "backdoor"}, Action: preview.ActionCreate, Merged: binding}
	long := strings.Repeat("<&", 5_000)
	lines := configMap("c0", strings.Repeat("<line>\n", 30_000))
	rows := []preview.Row{
		{ID: object.ID{Kind: "ConfigMap", Name: "c0"}, Action: preview.ActionCreate, Merged: lines, Detail: long, Why: ordering.Reason{Rule: "layer", Detail: long}},
		{ID: object.ID{Kind: long, Name: "c1"}, Action: preview.ActionCreate, Merged: configMap("c1", "x")},
		granting,
	}
	p := previewOf("web", rows...)
	p.Plan.Notes = []string{long, long}
	p.Plan.Hooks = []ordering.PlannedHook{
		{Event: "pre-install", ID: object.ID{Kind: "Job", Name: "migrate"}},
		{Event: "pre-install", ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Name: "hooked"}},
	}
	out := markdownOf(t, p)
	has(t, out, `(?s)<h4>Permissions, webhooks and CRDs</h4>.*<b>create</b> <code>ClusterRoleBinding.* backdoor</code>.*<code>Role.* hooked</code>.*<h4><code>wave 1/1 \(web\)</code></h4>.*<code>ConfigMap c0</code>.*diff of 360 KB not shown.*<h4>Hooks</h4>.*<code>Job migrate</code>`,
		`\+    large: <{1,400}… \(\d+ more characters\)\n\+  name: backdoor`)

	var many []preview.Row
	for i := range 3000 {
		many = append(many, preview.Row{ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Action: preview.ActionUpdate, Live: configMap("c", "a"), Merged: configMap("c", "b")})
	}
	out = markdownOf(t, previewOf("web", append(many, granting)...))
	has(t, out, "backdoor</code>", `Not listed, .*<code>\d+ ConfigMap</code>`)

	for i := range many { // many that are listed first, with long names
		many[i].ID = object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Name: long + fmt.Sprint(i)}
	}
	has(t, markdownOf(t, previewOf("web", append(many, granting)...)), `Not listed, .*<code>\d+ Role\.rbac.authorization.k8s.io, 1 ClusterRoleBinding`)
}

// Two values that differ in characters without a width do not look the same as one.
func TestMarkdownShowsInvisibleCharacters(t *testing.T) {
	row := preview.Row{ID: object.ID{Kind: "ConfigMap", Name: "c"}, Action: preview.ActionUpdate, Live: configMap("c", "admin"), Merged: configMap("c", "ad\u200bmin\u2060\ufeff")}
	require.NotRegexp(t, "[\u200b\u2060\ufeff]", markdownOf(t, previewOf("web", row)))
}

// A plan without a cluster is laid out in the same way, and lists grants of permissions
// first.
func TestMarkdownWithoutACluster(t *testing.T) {
	plan := &ordering.Plan{Waves: []ordering.Wave{{Name: "web"}}, Notes: []string{"a note"}}
	for i := range 2000 {
		plan.Steps = append(plan.Steps, ordering.Step{ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}})
	}
	plan.Steps = append(plan.Steps, ordering.Step{ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: "shop", Name: "last"}})
	var out strings.Builder
	require.NoError(t, MarkdownWaves(&out, plan, CommentSize))
	require.Less(t, out.Len(), 65_536)
	has(t, out.String(), `(?s)^<!-- ordapply plan -->\n<h3>Plan, without a cluster</h3>.*Role.* shop/last.*ConfigMap c0<.*Not listed, .*<code>\d+ ConfigMap</code>.*note: a note`)
}
