package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
)

// forged is text that would look like one of our lines and control the terminal
// if it were printed unescaped.
const forged = `x\nerror: FORGED\r\nFORGED 2 ready\u2028FORGED\u0085FORGED\e[2J\e]0;FORGED\a\u202eFORGED\tz`

// hostile is a stream with such text wherever text is printed.
const hostile = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: "a` + forged + `", annotations: {argocd.argoproj.io/sync-wave: "1", ordapply.dev/depends-on: "external:/namespaces/n/ConfigMap/` + forged + `"}}}
---
{apiVersion: v1, kind: "Kind` + forged + `", metadata: {name: b, namespace: "n` + forged + `", annotations: {argocd.argoproj.io/sync-wave: "2", ordapply.dev/depends-on: "` + forged + `"}}, status: {phase: "` + forged + `", conditions: [{type: Ready, status: "False", reason: "` + forged + `", message: "` + forged + `"}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "3", ordapply.dev/layer: "shop/` + forged + `", ordapply.dev/wave: "7", ordapply.dev/gate: "` + forged + `", helm.sh/hook: "` + forged + `"}}, spec: {template: {spec: {containers: [{name: "` + forged + `", envFrom: [{secretRef: {name: "` + forged + `"}}]}]}}}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: "` + forged + `"}]}}
---
{apiVersion: "` + forged + `/v1", kind: Thing, metadata: {name: c}}
`

// plainly is the part of it that passes all checks.
const plainly = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-wave: "1", ordapply.dev/depends-on: "external:/namespaces/n/ConfigMap/` + forged + `"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "3", ordapply.dev/layer: "shop/` + forged + `", ordapply.dev/wave: "7"}}, spec: {template: {spec: {containers: [{name: "` + forged + `", envFrom: [{secretRef: {name: "` + forged + `"}}]}]}}}}
---
{apiVersion: example.com/v1, kind: Thing, metadata: {name: "c` + forged + `", annotations: {"` + forged + `": x}}}
`

func requireNothingForged(t *testing.T, output string, by ...string) {
	t.Helper()
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		require.False(t, strings.HasPrefix(strings.TrimLeft(line, " "), "FORGED") || strings.HasPrefix(line, "error: FORGED"), "%v: a line is forged: %q", by, line)
		require.False(t, strings.ContainsFunc(line, func(r rune) bool {
			return unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\ufffd'
		}), "%v: a line steers the terminal: %q", by, line)
	}
}

func TestNoVerbPrintsWhatManifestsForge(t *testing.T) {
	order := filepath.Join(t.TempDir(), "order.yaml")
	require.NoError(t, os.WriteFile(order, []byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: shop}\nsortOrder: [{kind: ConfigMap, layer: first}, {unmatched: true, layer: last}]\n"), 0o600))
	for _, stream := range []string{hostile, plainly} {
		for _, args := range []string{
			"plan --dry-run=client", "plan --dry-run=client -o json", "plan --dry-run=client --order " + order, "vet", "init", "consolidate", "explain Thing/c", "explain Deployment/web",
			"health", "health -o json", "graph -o dot", "graph -o mermaid", "graph -o json", "graph -o svg", "rbac", "rbac --user x",
			"sort --order " + order + " --marks --selector none=none", "apply --dry-run=server --kubeconfig none", "delete --kubeconfig none", "nosuch\x1bverb", "plan --no\x1bflag",
		} {
			var out, output bytes.Buffer
			run(context.Background(), append(strings.Split(args, " "), "-f", "-"), strings.NewReader(stream), &out, &output)
			requireNothingForged(t, output.String(), args)
			if !strings.HasPrefix(args, "graph -o svg") { // its <title> elements contain line breaks on purpose
				requireNothingForged(t, out.String(), args)
			}
		}
	}
}

// An error with several lines, or a diagnosis below it, cannot forge another
// error.
func TestErrorsAreEscaped(t *testing.T) {
	text := "status: bad\nerror: FORGED\r\n\x1b[2JFORGED"
	var output bytes.Buffer
	report.PrintErrors(&output, terminal.Shader(nil), []error{
		&event.Error{Op: event.OpWait, ID: object.ID{Kind: "Thing", Name: "a"}, Wave: "wave 1/1", Err: errors.New(text), Diagnosis: &event.Diagnosis{Findings: []event.Finding{{Text: text, Log: []string{text}}}}},
		errors.New(text),
	})
	requireNothingForged(t, output.String())
	require.Contains(t, output.String(), "\n  | error: FORGED\n")
}
