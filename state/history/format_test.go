package history

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// storedSample returns one of testdata/revisions: bytes that a version of
// ordapply wrote, which must never change.
func storedSample(t *testing.T, name, format string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "revisions", name+"."+format+".gz"))
	require.NoError(t, err)
	return data
}

// Revisions of every format are read, with their meaning unchanged: v2 here, v3 in
// TestRevisionsWithHooksAreRead. When a format is added, ORDAPPLY_GOLDEN=1 writes its
// samples where there are none; existing ones are not changed.
func TestEveryFormatIsRead(t *testing.T) {
	for name, options := range samples() {
		t.Run(name, func(t *testing.T) {
			v2 := filepath.Join("testdata", "revisions", name+".v2.gz")
			if _, err := os.Stat(v2); err != nil && os.Getenv("ORDAPPLY_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(v2, encoded(t, sample(t, name, options)), 0o644))
			}
			digest, err := os.ReadFile(filepath.Join("testdata", "revisions", name+".digest"))
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join("testdata", "revisions", name+".json"))
			require.NoError(t, err)
			r, err := decode(storedSample(t, name, formatV2))
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(string(digest)), digestOf(t, *r))
			require.Equal(t, string(want), described(t, r))
			require.Equal(t, "one", r.Cluster)
			require.Equal(t, "# of "+name+"\n", r.OrderFile)
			_, err = planner.DeletionOrder(r.Resources, r.Options)
			require.NoError(t, err)
		})
	}
}

// The encoding is the agreed format: a field that is renamed or dropped in
// this package fails here, even if decoding tolerates it.
func TestWhatIsWrittenIsTheAgreedFormat(t *testing.T) {
	for name := range samples() {
		want := storedSample(t, name, formatV2)
		r, err := decode(want)
		require.NoError(t, err)
		text, err := unzip(want, limits.RevisionText)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(textOf(t, *r)), name)
	}
}

// What is written field by field is what encoding/json writes for a document, to the byte.
func TestTextIsThatOfADocument(t *testing.T) {
	revisions := map[string]Revision{"nothing": {Plan: &ordering.Plan{}}, "empty lists": {Plan: &ordering.Plan{Steps: []ordering.Step{}}, Resources: []ordering.Resource{}}}
	for name, options := range samples() {
		revisions[name] = sample(t, name, options)
	}
	for name, r := range revisions {
		r.values = map[string]string{"other": "sha256:<&>"}
		r.Hooks = r.Resources
		if name != "nothing" {
			r.Plan.Notes = []string{"a <note>"}
			r.Plan.Skipped = []ordering.Skipped{{ID: object.ID{Kind: "Job", Name: "a"}}}
			r.Plan.Dropped = []ordering.Dropped{{ID: object.ID{Kind: "Job", Name: "b"}}}
			r.Plan.Hooks = []ordering.PlannedHook{{ID: object.ID{Kind: "Job", Name: "c"}}, {ID: object.ID{Kind: "Job", Name: "d"}, Within: true}}
		}
		text := textOf(t, r)
		var d document
		require.NoError(t, json.Unmarshal(text, &d))
		want, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), name)
	}
}

func textOf(t *testing.T, r Revision) []byte {
	t.Helper()
	text, err := unzip(encoded(t, r), limits.RevisionText)
	require.NoError(t, err)
	return text
}

// described returns all fields of a revision as text.
func described(t *testing.T, r *Revision) string {
	t.Helper()
	var d document
	require.NoError(t, json.Unmarshal(textOf(t, *r), &d))
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(map[string]any{"plan": d.Plan, "options": d.Options, "resources": d.Resources}))
	return b.String()
}

// Checks revisions of the oldest format against the names in the code: a
// mistake in writing and reading at once fails here.
func TestOldestFormatMeansWhatItDid(t *testing.T) {
	stamps, err := decode(storedSample(t, "stamps", formatV2))
	require.NoError(t, err)
	plan := stamps.Plan
	require.Equal(t, ordering.OrderSourceStamps, plan.OrderSource)
	require.Len(t, plan.Waves, 5)
	step := func(name string) ordering.Step {
		for _, s := range plan.Steps {
			if s.ID.Name == name {
				return s
			}
		}
		t.Fatal("no step ", name)
		return ordering.Step{}
	}
	db, web, one := step("db"), step("web"), step("one")
	require.Equal(t, ordering.Applied, db.Gate)
	require.Equal(t, "platform/data", db.Layer)
	require.Equal(t, ordering.Ready, web.Gate)
	require.Equal(t, 2, web.Wave)
	require.Len(t, web.External, 2)
	require.Equal(t, object.ID{Group: "cert-manager.io", Kind: "ClusterIssuer", Name: "acme"}, web.External[1].ID)
	require.Equal(t, ordering.Applied, web.External[1].Gate)
	require.Equal(t, []object.ID{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"}}, one.ProvidedBy)
	require.Equal(t, 2*time.Minute, plan.Layers[1].Timeout)
	require.Equal(t, ordering.Applied, plan.Layers[0].Gate)
	require.Equal(t, ordering.Prerequisites, plan.Layers[3].Kind)
	require.Equal(t, -1, plan.Layers[0].Within)
	require.Len(t, plan.Dropped, 1)
	require.EqualValues(t, "pod-template", plan.Dropped[0].Need.Why.Rule)
	require.NotEmpty(t, plan.Dropped[0].Because)
	spec := stamps.Objects()[web.ID].Object["spec"].(map[string]any)
	require.Equal(t, int64(9007199254740993), spec["replicas"])

	argocd, err := decode(storedSample(t, "argocd", formatV2))
	require.NoError(t, err)
	require.Len(t, argocd.Plan.Skipped, 2)
	require.True(t, argocd.Options.SkipHooks)

	stacks, err := decode(storedSample(t, "stacks", formatV2))
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, stacks.Options.Stacks[0].Applications[1].Timeout)
	require.Equal(t, "base/db", stacks.Options.ApplicationOf(object.Meta{ID: object.ID{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "db"}}))
}

// Plans of every rule of package ordering are stored and read.
func TestPlansOfAllRulesAreStored(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("..", "..", "ordering", "testdata", "*.txtar"))
	require.NoError(t, err)
	stored := 0
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, file := range archive.Files {
			if file.Name != "stream.yaml" {
				continue
			}
			all := resources(t, string(file.Data))
			for _, options := range []ordering.Options{{}, {SkipHooks: true, NoPrerequisites: true, OrderSource: ordering.OrderSourceNone}} {
				plan, err := planner.Build(all, options)
				if err != nil || plan.Err() != nil {
					continue // some rules are about errors
				}
				stored++
				r := Revision{Plan: plan, Resources: all, Options: options}
				read, err := decode(encoded(t, r))
				require.NoError(t, err, path)
				require.Equal(t, r.Plan, read.Plan, path)
				require.Equal(t, digestOf(t, r), digestOf(t, *read), path)
			}
		}
	}
	require.Greater(t, stored, 60)
}

// changed returns a stored sample with a part of its text replaced.
func changed(t *testing.T, name, format, old, text string) []byte {
	t.Helper()
	whole, err := unzip(storedSample(t, name, format), limits.RevisionText)
	require.NoError(t, err)
	require.Contains(t, string(whole), old)
	return zip(t, strings.Replace(string(whole), old, text, 1))
}

// Inconsistent or unknown content is rejected and not guessed at: a rollback
// with half a plan would prune the other half.
func TestRevisionsThatDoNotFitAreRefused(t *testing.T) {
	data := storedSample(t, "stamps", formatV2)
	cases := map[string]struct {
		data []byte
		want string
	}{
		"cut off":               {data[:len(data)/2], "unexpected EOF"},
		"later format":          {zip(t, `{"format":"v6","plan":[]}`), "it has format v6, and this version of ordapply reads up to v5: use the later version that wrote it"},
		"no format":             {zip(t, `{"plan":{}}`), `unknown revision format ""`},
		"no plan":               {zip(t, `{"format":"v2"}`), "it has no plan"},
		"renamed":               {changed(t, "stamps", "v2", `"steps"`, `"stages"`), "unknown field"},
		"step of nothing":       {changed(t, "stamps", "v2", `"steps":[{"id":{"kind":"Namespace","name":"shop"}`, `"steps":[{"id":{"kind":"Namespace","name":"other"}`), "the step of Namespace other"},
		"resource without step": {changed(t, "stamps", "v2", `"resources":[`, `"resources":[{"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"more"}}},`), "ConfigMap more has no step"},
		"resource twice":        {changed(t, "stamps", "v2", `"resources":[`, `"resources":[{"object":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}},`), "it contains Namespace shop twice"},
		"no resource":           {changed(t, "stamps", "v2", `"resources":[`, `"resources":[{"object":{}},`), "has no kind or name"},
		"unknown gate":          {changed(t, "stamps", "v2", `"gate":"applied"`, `"gate":"healthy"`), `"healthy" is not a gate`},
		"unknown layer kind":    {changed(t, "stamps", "v2", `"kind":"layer"`, `"kind":"tier"`), `has unknown kind "tier"`},
		"unknown frame":         {changed(t, "stamps", "v2", `"frame":"stamps"`, `"frame":"flux"`), `frame "flux"`},
		"unknown frame option":  {changed(t, "argocd", "v2", `"options":{"frame":"argocd"`, `"options":{"frame":"flux"`), `frame "flux"`},
		"no duration":           {changed(t, "stamps", "v2", `"timeout":"2m0s"`, `"timeout":"soon"`), "invalid duration"},
		"wave out of range":     {changed(t, "stamps", "v2", `"wave":4`, `"wave":5`), "the plan has only 5"},
		"layer out of range":    {changed(t, "stamps", "v2", `"layers":[0]`, `"layers":[9]`), "layer 9: the plan has only 5"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := decode(c.data)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := unzip(zip(t, strings.Repeat("a", 2<<20)), 1<<20)
	require.EqualError(t, err, "it is larger than 1 MiB when decompressed")
}
