package request

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// A first meaningful status is waited for as long as something depends on the object, and never
// if readiness would not be assumed without it.
func TestTheStatusGraceEndsWithTheNeedForIt(t *testing.T) {
	type status = map[string]any
	const first, unawaited = "; waiting up to 15s for one, unless annotation ordapply.dev/ready-when says when it is ready", "; not waited for, because nothing depends on it"
	for name, c := range map[string]struct {
		kind   string // default: Silent
		status status
		needed string // the verdict while something depends on it
		rest   string // the verdict when nothing does
	}{
		"no status":          {needed: "progressing: it has no status yet" + first, rest: "ready: assumed: no status" + unawaited},
		"an empty statement": {status: status{"address": "10.0.0.1"}, needed: "progressing: its status does not say whether it is ready", rest: "ready: assumed: its status does not say whether it is ready" + unawaited},
		"not yet":            {status: status{"phase": "Pending"}, needed: "progressing: phase is Pending", rest: "progressing: phase is Pending"},
		"ready":              {status: status{"phase": "Running"}, needed: "ready: phase is Running", rest: "ready: phase is Running"},
		"a first failure":    {status: status{"phase": "Failed"}, needed: "progressing: phase is Failed", rest: "progressing: phase is Failed"},
		"a kind with a rule": {kind: "Ruled", needed: "progressing: not yet self.status.open: missing field status", rest: "progressing: not yet self.status.open: missing field status"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := c.kind
			if kind == "" {
				kind = "Silent"
			}
			live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "grace.example/v1", "kind": kind, "metadata": map[string]any{"name": "one"}}}
			if c.status != nil {
				live.Object["status"] = c.status
			}
			rules, err := health.ParseRules([]byte("{apiVersion: ordapply.dev/v1alpha1, kind: HealthRules, rules: [{group: grace.example, kind: Ruled, readyWhen: self.status.open}]}"))
			require.NoError(t, err)
			judge := Judge{Health: &health.Assessor{Rules: rules}, Grace: 15 * time.Second}
			for unneeded, want := range map[bool]string{false: c.needed, true: c.rest} {
				applied := Applied{Manifest: live, HasStatus: true}
				applied.Start(live, false)
				judge.Unneeded = unneeded
				a, again := judge.Assess(applied, live)
				require.Equal(t, want, a.Verdict.String()+": "+a.Reason)
				require.False(t, unneeded && a.Verdict == health.Ready && !again.IsZero(), "it is judged once")
			}
		})
	}
}
