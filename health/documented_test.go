package health_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// Each testdata/documented/*.txtar holds statuses as projects document them,
// one a line, under the verdict that the documented meaning requires:
//
//	cert-manager.io/v1 Issuer {status: {conditions: [{type: Ready, status: "True"}]}}
//
// "not ready" is progressing or failed, "assumed" is ready without evidence.
// The comments before them give, for each API group or a domain that it ends
// in, where its project documents the statuses.
func TestDocumentedStatuses(t *testing.T) {
	areas, err := filepath.Glob("testdata/documented/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, areas)
	for _, path := range areas {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			for _, section := range archive.Files {
				for line := range strings.Lines(string(section.Data)) {
					obj := documented(t, line)
					require.True(t, hasSource(string(archive.Comment), obj.GroupVersionKind().Group), "no source for %s", line)
					a := health.Assess(obj)
					if a.Inconclusive {
						a = (&health.Assessor{}).AfterGrace(a)
					}
					if !agrees(section.Name, a) {
						t.Errorf("want %s, got %s: %s (%s)\n%s", section.Name, a.Verdict, a.Reason, a.Rule, line)
					}
				}
			}
		})
	}
}

// documented parses a line: apiVersion, kind, and the other fields; generation
// belongs to the metadata.
func documented(t *testing.T, line string) *unstructured.Unstructured {
	apiVersion, rest, _ := strings.Cut(line, " ")
	kind, fields, found := strings.Cut(rest, " ")
	require.True(t, found, line)
	obj := parse(t, "{apiVersion: "+apiVersion+", kind: "+kind+", "+strings.TrimPrefix(fields, "{"))
	metadata := map[string]any{"name": "main", "generation": int64(1)}
	for _, key := range []string{"generation", "annotations"} {
		if value, ok := obj.Object[key]; ok {
			metadata[key] = value
			delete(obj.Object, key)
		}
	}
	obj.Object["metadata"] = metadata
	return obj
}

func hasSource(comment, group string) bool {
	for line := range strings.Lines(comment) {
		domain, url, ok := strings.Cut(line, ": https://")
		if ok && url != "" && (group == domain || strings.HasSuffix(group, "."+domain)) {
			return true
		}
	}
	return false
}

func agrees(want string, a health.Assessment) bool {
	switch want {
	case "ready", "assumed":
		return a.Verdict == health.Ready && a.Assumed == (want == "assumed")
	case "progressing":
		return a.Verdict == health.Progressing
	case "failed":
		return a.Verdict == health.Failed
	case "not ready":
		return a.Verdict == health.Progressing || a.Verdict == health.Failed
	}
	return false
}
