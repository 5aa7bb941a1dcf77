package health_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

// Each testdata/*.txtar tests one group of rules: objects.yaml is the input,
// with optional rules.yaml (a rules file), argocd-cm.yaml (a ConfigMap) and a
// file "strict"; the output is a line for each object. `make golden` updates
// the outputs.
func TestLadder(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			name, got := outcome(t, archive)
			// On a busy machine, or with the race detector, the time ends first.
			got = strings.ReplaceAll(got, "it ran for more than 1s", "it executed more than 2000000 instructions: loop over fewer values")
			last := len(archive.Files) - 1
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				archive.Files[last] = txtar.File{Name: name, Data: []byte(got)}
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, archive.Files[last].Name, name, got)
			require.Equal(t, string(archive.Files[last].Data), got)
		})
	}
}

// outcome returns the assessment of each object, or the error.
func outcome(t *testing.T, archive *txtar.Archive) (name, text string) {
	var assessor health.Assessor
	var objects []byte
	var err error
	for _, file := range archive.Files {
		switch file.Name {
		case "objects.yaml":
			objects = file.Data
		case "rules.yaml":
			assessor.Rules, err = health.ParseRules(file.Data)
		case "argocd-cm.yaml":
			var cm struct{ Data map[string]string }
			require.NoError(t, yaml.Unmarshal(file.Data, &cm))
			assessor.ArgoCD, err = health.ParseArgoCD(cm.Data)
		case "strict":
			assessor.Strict = true
		}
		if err != nil {
			return "error", err.Error() + "\n"
		}
	}
	var b strings.Builder
	for doc := range bytes.SplitSeq(objects, []byte("---\n")) {
		b.WriteString(line(&assessor, parse(t, string(doc))))
	}
	return "verdicts", b.String()
}

func line(assessor *health.Assessor, obj *unstructured.Unstructured) string {
	a := assessor.Assess(obj)
	text := fmt.Sprintf("%s: %s: %s (%s)\n", obj.GetName(), a.Verdict, a.Reason, a.Rule)
	if a.NeedsGrace() {
		later := assessor.AfterGrace(a)
		text += fmt.Sprintf("%s, after the grace time: %s: %s (%s)\n", obj.GetName(), later.Verdict, later.Reason, later.Rule)
	}
	for _, backend := range a.Backends {
		text += fmt.Sprintf("%s needs endpoints of %s\n", obj.GetName(), backend)
	}
	if err := assessor.Check(obj); err != nil {
		text += fmt.Sprintf("%s is wrong: %s\n", obj.GetName(), strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return text
}
