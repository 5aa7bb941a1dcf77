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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

// RFC-DEPLOY-0001 §5.5: Failed if any is Failed or Unknown, else Degraded if
// any is Degraded or Missing, else Progressing if any is Progressing, else
// Healthy.
func TestAggregate(t *testing.T) {
	for _, c := range []struct {
		want   string
		grades []health.Grade
	}{
		{"Healthy", nil},
		{"Healthy", []health.Grade{health.GradeHealthy, health.GradeHealthy}},
		{"Suspended", []health.Grade{health.GradeHealthy, health.GradeSuspended}},
		{"Progressing", []health.Grade{health.GradeSuspended, health.GradeProgressing, health.GradeHealthy}},
		{"Degraded", []health.Grade{health.GradeProgressing, health.GradeMissing}},
		{"Degraded", []health.Grade{health.GradeDegraded, health.GradeProgressing, health.GradeMissing}},
		{"Failed", []health.Grade{health.GradeMissing, health.GradeFailed, health.GradeProgressing}},
		{"Failed", []health.Grade{health.GradeDegraded, health.GradeFailed}},
		{"Failed", []health.Grade{health.GradeUnknown, health.GradeHealthy}},
	} {
		require.Equal(t, c.want, health.Aggregate(c.grades...).String(), c.grades)
	}
}

// Every verdict has a grade.
func TestGradeOfVerdict(t *testing.T) {
	for verdict, want := range map[health.Verdict]string{
		health.Ready: "Healthy", health.Progressing: "Progressing", health.Failed: "Failed",
		health.Deleting: "Degraded", health.Missing: "Missing", health.Unknown: "Unknown",
	} {
		require.Equal(t, want, verdict.Grade().String())
	}
}

// Each testdata/grades/*.txtar has objects with their grades, in the terms of
// RFC-DEPLOY-0001 §5, and verdicts.
func TestGrades(t *testing.T) {
	cases, err := filepath.Glob("testdata/grades/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			assessor, objects := readCase(t, archive)
			var got strings.Builder
			for _, obj := range objects {
				a := assessor.Assess(obj)
				fmt.Fprintf(&got, "%s: %s, %s: %s (%s)\n", obj.GetName(), a.Grade(), a.Verdict, a.Reason, a.Rule)
			}
			last := &archive.Files[len(archive.Files)-1]
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				last.Data = []byte(got.String())
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(last.Data), got.String())
		})
	}
}

// readCase reads the objects of a case and its rules.
func readCase(t *testing.T, archive *txtar.Archive) (*health.Assessor, []*unstructured.Unstructured) {
	assessor := &health.Assessor{}
	var objects []*unstructured.Unstructured
	checks := map[string]string{}
	columns := map[schema.GroupVersionKind][]health.Column{}
	for _, file := range archive.Files {
		var err error
		switch file.Name {
		case "rules.yaml":
			assessor.Rules, err = health.ParseRules(file.Data)
		case "argocd-cm.yaml":
			var cm struct{ Data map[string]string }
			require.NoError(t, yaml.Unmarshal(file.Data, &cm))
			assessor.ArgoCD, err = health.ParseArgoCD(cm.Data)
		case "objects.yaml":
			for doc := range bytes.SplitSeq(file.Data, []byte("---\n")) {
				objects = append(objects, parse(t, string(doc)))
			}
		case "crd.yaml":
			columns = health.ColumnsOf(parse(t, string(file.Data)))
		default:
			checks[file.Name] = string(file.Data)
		}
		require.NoError(t, err, file.Name)
	}
	var err error
	assessor.ArgoCDFolder, err = health.ParseArgoCDFiles(checks)
	require.NoError(t, err)
	assessor.ColumnsOf = func(gvk schema.GroupVersionKind) []health.Column { return columns[gvk] }
	return assessor, objects
}
