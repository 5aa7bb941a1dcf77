package diagnose

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A condition whose status is as it should be is no finding.
func TestOnlyBadConditionsAreFindings(t *testing.T) {
	condition := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-03-01T08:58:00Z"}
	}
	progressing := condition("Progressing", "True", "ReplicaSetUpdated", `ReplicaSet "web-1" is progressing.`)
	for name, c := range map[string]struct {
		apiVersion, kind string
		conditions       []any
		want             []string
	}{
		"a Deployment that progresses": {"apps/v1", "Deployment", []any{progressing}, nil},
		"and is not available": {"apps/v1", "Deployment", []any{progressing, condition("Available", "False", "MinimumReplicasUnavailable", "too few")},
			[]string{"condition Available is False for 2m0s (MinimumReplicasUnavailable): too few"}},
		"one that gave up": {"apps/v1", "Deployment", []any{condition("Progressing", "False", "ProgressDeadlineExceeded", "too slow")},
			[]string{"condition Progressing is False for 2m0s (ProgressDeadlineExceeded): too slow"}},
		"a Job that failed": {"batch/v1", "Job", []any{condition("Failed", "True", "BackoffLimitExceeded", "no more")},
			[]string{"condition Failed is True for 2m0s (BackoffLimitExceeded): no more"}},
		"a custom resource that works": {"example.com/v1", "Database", []any{condition("Reconciling", "True", "Progressing", "restoring 3 of 9")},
			[]string{"condition Reconciling is True for 2m0s (Progressing): restoring 3 of 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": c.apiVersion, "kind": c.kind, "metadata": map[string]any{"name": "web"}, "status": map[string]any{"conditions": c.conditions}}}
			q := &Diagnoser{Now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
			q.conditions(live)
			var texts []string
			for _, f := range q.findings {
				texts = append(texts, f.Text)
			}
			require.Equal(t, c.want, texts)
		})
	}
}
