package argocd_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/export/argocd"
	"github.com/ordapply/ordapply/internal/judge/condition"
)

// agreement returns a function that requires that the Lua of a check and its CEL give one
// verdict on an object. Both are compiled once.
func agreement(t *testing.T, c argocd.LuaCheck, kind schema.GroupVersionKind) func(*unstructured.Unstructured) {
	t.Helper()
	script, err := argocd.LuaScript([]argocd.LuaCheck{c})
	require.NoError(t, err)
	data := map[string]string{"resource.customizations.health." + kind.Group + "_" + kind.Kind: script}
	if argocd.LuaNeedsLibraries(script) {
		data["resource.customizations.useOpenLibs."+kind.Group+"_"+kind.Kind] = "true"
	}
	checks, err := health.ParseArgoCD(data)
	require.NoError(t, err)
	failed, ready := compiled(t, c.Failed), compiled(t, c.Ready)
	return func(obj *unstructured.Unstructured) {
		expected := health.Progressing
		switch {
		case c.Failed != "" && failed(obj):
			expected = health.Failed
		case c.Ready == "" || ready(obj):
			expected = health.Ready
		}
		got := (&health.Assessor{ArgoCD: checks}).Assess(obj)
		require.Equal(t, expected, got.Verdict, "%+v\n%v\n%s: %s", c, obj.Object, got.Rule, got.Reason)
	}
}

// compiled returns a condition in CEL; nil for "".
func compiled(t *testing.T, source string) func(*unstructured.Unstructured) bool {
	t.Helper()
	if source == "" {
		return nil
	}
	condition, err := condition.Compile(source)
	require.NoError(t, err)
	return func(obj *unstructured.Unstructured) bool {
		ok, _, _ := condition.Holds(obj)
		return ok
	}
}

func TestLuaAgreesWithCEL(t *testing.T) {
	statuses := []string{
		`{}`, `{phase: Up}`, `{phase: Broken}`, `{phase: ""}`, `{n: 2, want: 2}`, `{n: 1}`, `{list: []}`, `{list: [{ok: true}, {ok: false}]}`, `{list: [{ok: true}, {}]}`,
		`{list: [{}, {ok: true}]}`, `{conditions: [{type: Ready, status: "True"}]}`, `{conditions: [{type: READY, status: "False"}]}`, `{m: {"a/b": up}}`, `{phase: Up, n: 2, want: 3}`,
	}
	conditions := []string{
		`true`, `self.status.phase == "Up"`, `self.status.phase != "Up"`, `self.status.phase in ["Up", "Ready"]`, `!(self.status.phase == "Up")`,
		`self.status.n >= self.status.want`, `self.?status.?n.orValue(0) >= self.?status.?want.orValue(1)`, `has(self.status.phase)`, `has(self.status.phase) && self.status.phase == "Up"`,
		`self.status.phase == "Up" || self.status.n == 2`, `self.status.n == 2 || self.status.phase == "Up"`, `self.status.list.exists(l, l.ok)`, `self.status.list.all(l, l.ok)`,
		`self.status.list.all(l, l.ok == true)`, `self.status.conditions.exists(c, c.type.lowerAscii() == "ready" && c.status == "True")`, `size(self.status.list) > 1`, `self.status.list.size() == 0`,
		`self.status.list[0].ok`, `self.status.m["a/b"] == "up"`, `self.?status.?m[?"a/b"].orValue("") == "up"`, `self.?status.?phase.hasValue()`, `self.status.phase == "Up" ? self.status.n == 2 : self.status.n == 1`,
		`self.status.phase.upperAscii() == "UP"`, `self.status.n + 1 == 3`, `self.status.phase == "a\"b\\c\n"`, `self.status.list.exists(l, self.status.list.exists(l, l.ok))`,
	}
	kind := schema.GroupVersionKind{Group: "lab.example", Version: "v1", Kind: "Gizmo"}
	for _, ready := range conditions {
		for _, failed := range []string{`self.status.phase == "Broken"`, `!(` + ready + `)`} {
			agree := agreement(t, argocd.LuaCheck{Ready: ready, Failed: failed}, kind)
			for _, status := range statuses {
				obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.example/v1", "kind": "Gizmo", "metadata": map[string]any{"name": "g"}}}
				require.NoError(t, yaml.Unmarshal([]byte("status: "+status), &obj.Object))
				agree(obj)
			}
		}
	}
}

func TestChecksOfSingleObjects(t *testing.T) {
	script, err := argocd.LuaScript([]argocd.LuaCheck{{Namespace: "shop", Name: "one", Ready: `self.status.phase == "One"`}, {Ready: `self.status.phase == "Up"`}})
	require.NoError(t, err)
	checks, err := health.ParseArgoCD(map[string]string{"resource.customizations.health.lab.example_Gizmo": script})
	require.NoError(t, err)
	for _, c := range []struct{ namespace, name, phase string }{
		{"shop", "one", "One"}, {"shop", "two", "Up"}, {"other", "one", "Up"},
		{"", "one", "One"}, // cluster-scoped, which an export cannot know without the CRD
	} {
		name := c.namespace + "/" + c.name
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.example/v1", "kind": "Gizmo", "metadata": map[string]any{"name": c.name}, "status": map[string]any{"phase": c.phase}}}
		obj.SetNamespace(c.namespace)
		require.Equal(t, health.Ready, (&health.Assessor{ArgoCD: checks}).Assess(obj).Verdict, name)
		obj.Object["status"] = map[string]any{"phase": "else"}
		require.Equal(t, health.Progressing, (&health.Assessor{ArgoCD: checks}).Assess(obj).Verdict, name)
	}
}

func TestWhatLuaCannotExpress(t *testing.T) {
	for source, what := range map[string]string{
		`self.status.list.filter(l, l.ok).size() > 1`:                   "the macro filter",
		`self.status.phase.matches("U.*")`:                              "the function matches",
		`timestamp(self.status.at) > timestamp("2026-01-01T00:00:00Z")`: "the function timestamp",
	} {
		_, err := argocd.LuaCondition(source)
		require.ErrorContains(t, err, what)
	}
}

// The rules that come with ordapply, over the statuses of a collection of real projects.
func TestBuiltInRulesInLua(t *testing.T) {
	root := os.Getenv("ORDAPPLY_HEALTH_CASES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "health-cases")
	}
	list, err := os.Open(filepath.Join(root, "cases.tsv"))
	if err != nil {
		t.Skipf("the collection of statuses is not at %s", root)
	}
	defer func() { require.NoError(t, list.Close()) }()
	table := csv.NewReader(list)
	table.Comma, table.LazyQuotes = '\t', true
	rows, err := table.ReadAll()
	require.NoError(t, err)
	compared := 0
	for _, row := range rows[1:] {
		data, err := os.ReadFile(filepath.Join(root, row[0], row[1]))
		require.NoError(t, err)
		data, err = yaml.YAMLToJSON(data)
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(data), row)
		c, ok := new(health.Assessor).Conditions(obj)
		if !ok || c.Script || obj.GetDeletionTimestamp() != nil {
			continue
		}
		agreement(t, argocd.LuaCheck{Ready: c.Ready, Failed: c.Failed}, obj.GroupVersionKind())(obj)
		compared++
	}
	require.Greater(t, compared, 20)

}
