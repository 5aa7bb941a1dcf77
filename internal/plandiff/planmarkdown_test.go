package plandiff

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/preview"
)

// previewOf returns a preview of rows, all in the first wave.
func previewOf(layer string, rows ...preview.Row) *previewed {
	return &previewed{
		target:  &connect.Target{Server: "https://127.0.0.1:6443", Context: "shop"},
		plan:    &ordering.Plan{Waves: []ordering.Wave{{Name: layer}}, Notes: []string{"a note with ``` and @everyone"}},
		preview: &preview.Preview{Rows: rows},
	}
}

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"text": value},
	}}
}

// Text that tries to end its block stays in it: TestMarkdown compares the whole comment
// with testdata/plan.md, and looks for what must not be outside of a block.
func TestMarkdown(t *testing.T) {
	forged := "red\n```\n</details>\n\n# Approved by @owner\n<script>\n````\n"
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	p := previewOf("</h4># @team\n",
		preview.Row{ID: id, Action: preview.ActionUpdate, Why: ordering.Reason{Rule: "layer", Detail: "<b>shop</b>"}, Live: configMap("settings", "blue"), Merged: configMap("settings", forged)},
		preview.Row{ID: id, Action: preview.ActionUnchanged},
		preview.Row{ID: id, Action: preview.ActionCreate, Detail: "</p><img src=x>", Merged: configMap("settings", "new")},
		preview.Row{ID: id, Action: preview.ActionError, Err: &apply.Error{ID: id, Err: errors.New("refused\n```\n# forged")}},
	)
	var out strings.Builder
	require.NoError(t, p.writeMarkdown(&out))
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

// A comment stays below GitHub's limit, and says what it leaves out.
func TestMarkdownIsLimited(t *testing.T) {
	var rows []preview.Row
	for i := range 300 {
		rows = append(rows, preview.Row{
			ID: object.ID{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Action: preview.ActionCreate,
			Merged: configMap("c", strings.Repeat("x ", 500)),
		})
	}
	var out strings.Builder
	require.NoError(t, previewOf("web", rows...).writeMarkdown(&out))
	require.Less(t, out.Len(), 65_536)
	require.Regexp(t, `Not shown, because a comment has at most 65,536 characters: <code>\d+ resources</code>`, out.String())
	require.Contains(t, out.String(), "300 create")
}
