package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/judge/status"
)

// No status that is older than the spec makes an object ready, by any kind of rule: each
// Healthy case of the collection whose status is dated, one generation later.
func TestStaleStatusesAreNeverReady(t *testing.T) {
	rules, err := ParseRules([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: HealthRules, rules: [{kind: "*", readyWhen: '` + anyTrue + `'}]}`))
	require.NoError(t, err)
	lua, err := ParseArgoCD(map[string]string{"resource.customizations.health.all": `
		for _, c in ipairs(obj.status.conditions or {}) do
			if c.status == "True" then return {status = "Healthy"} end
		end
		return {status = "Progressing"}`})
	require.NoError(t, err)
	stale := 0
	for _, s := range collection(t) {
		newest, dated := newestGeneration(s.obj.Object["status"])
		bare := Assess(status.WithStatus(s.obj, nil))
		if s.expected != "Healthy" || !dated || bare.Verdict == Ready { // ready without a status
			continue
		}
		stale++
		s.obj.SetGeneration(newest + 1)
		for kind, assessor := range map[string]*Assessor{"built-in": {}, "rules file": {Rules: rules}, "Lua": {ArgoCD: lua}} {
			a := assessor.Assess(s.obj)
			require.NotEqual(t, Ready, a.Verdict, "%s, %s: %s (%s)", s.name, kind, a.Reason, a.Rule)
		}
		for _, annotations := range []map[string]string{
			{readyWhen: anyTrue},
			{helmSuccess: `{.conditions[?(@.status=="True")].status} == True`, helmFailure: "{.never} == 1"},
		} {
			s.obj.SetAnnotations(annotations)
			a := Assess(s.obj)
			require.NotEqual(t, Ready, a.Verdict, "%s, %v: %s (%s)", s.name, annotations, a.Reason, a.Rule)
		}
	}
	require.Greater(t, stale, 40)
}

const anyTrue = `self.status.conditions.exists(c, c.status == "True")`

// newestGeneration returns the newest generation that a status names.
func newestGeneration(value any) (newest int64, found bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			n, ok := status.Integer(field)
			if key != "observedGeneration" || !ok {
				n, ok = newestGeneration(field)
			}
			newest, found = max(newest, n), found || ok
		}
	case []any:
		for _, item := range value {
			n, ok := newestGeneration(item)
			newest, found = max(newest, n), found || ok
		}
	}
	return newest, found
}

// The first moments of an object of each kind with a built-in rule: it has just been created,
// its status is empty, or nothing in it is known yet. The rule waits, unless its kind may
// never get a status. Nothing fails, and nothing is assumed.
func TestFirstMomentsOfBuiltInRules(t *testing.T) {
	for _, r := range builtin().rules {
		concrete := strings.NewReplacer("*", "x")
		apiVersion, kind := concrete.Replace(*r.Group)+"/v1", concrete.Replace(r.Kind)
		want := Progressing
		if holdsWithoutStatus := !strings.Contains(r.ReadyWhen, "self.status"); holdsWithoutStatus && r.Kind != "VirtualMachine" {
			want = Ready
		}
		for _, status := range []string{"", "null", "{}", "{conditions: []}", `{conditions: [{type: Ready, status: "Unknown"}]}`, "{observedGeneration: -1}"} {
			text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a, generation: 1}, spec: {}, status: %s}", apiVersion, kind, status)
			obj := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
			if status == "" {
				delete(obj.Object, "status")
			}
			a := Assess(obj)
			if want == Ready && strings.Contains(status, "Unknown") {
				require.Contains(t, []Verdict{Ready, Progressing}, a.Verdict, "%s, status %s: %s", r.name, status, a.Reason)
				continue
			}
			require.Equal(t, want, a.Verdict, "%s, status %s: %s", r.name, status, a.Reason)
			require.False(t, a.NeedsGrace() && !a.AwaitsStatus(true), "%s, status %s: %s (%s)", r.name, status, a.Reason, a.Rule)
		}
	}
}
