package operation

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/object"
)

// A plan file contains nothing that may be a credential, and no build.
func TestNoCredentialIsStored(t *testing.T) {
	for from, want := range map[string]string{
		"https://jane:hunter2@example.com/app.yaml":    "https://xxxxx@example.com/app.yaml",
		"https://hunter2@example.com/app.yaml":         "https://xxxxx@example.com/app.yaml",
		"https://example.com/app.yaml?token=hunter2":   "https://example.com/app.yaml?xxxxx",
		"https://example.com/app.yaml#hunter2":         "https://example.com/app.yaml",
		"HTTPS://jane:hunter2%zz@example.com/app.yaml": "HTTPS://xxxxx",
		"https://example.com/app.yaml":                 "https://example.com/app.yaml",
		"a?token=b.yaml":                               "a?token=b.yaml",
		"-":                                            "-",
	} {
		require.Equal(t, want, input.RedactedURL(from))
	}
	p := NewPreview()
	p.Files, p.Prune = []string{"https://jane:hunter2@example.com/app.yaml"}, true
	p.Kustomize, p.Exec = "https://jane:hunter2@example.com/base", true
	*p.Cluster.BearerToken, *p.Cluster.KubeConfig, *p.Cluster.Context, *p.Cluster.APIServer = "hunter2", "hunter2", "hunter2", "https://hunter2"
	stored, build := p.stored()
	text, err := json.Marshal(stored)
	require.NoError(t, err)
	require.JSONEq(t, `{"files":["https://xxxxx@example.com/app.yaml"],"hooks":"run","adopt":"unowned","prune":true,"fieldManager":"ordapply","forceConflicts":"false"}`, string(text))
	require.Equal(t, &planBuild{Kustomize: "https://xxxxx@example.com/base", Allowed: []string{"enable-exec"}}, build)
	require.Equal(t, []string{"https://jane:hunter2@example.com/app.yaml"}, p.Files, "the operation itself is not changed")
}

// The options of an operation are the same after they were stored.
func TestOptionsAreStored(t *testing.T) {
	p := NewPreview()
	p.Files, p.Recursive, p.Selector, p.Order, p.RequireOrder = []string{"a.yaml", "b.yaml"}, true, "app=web", "order.yaml", true
	p.Frame, p.Hooks, p.PrerequisiteKinds, p.Charts = "helm", "skip", []string{"StorageClass"}, []string{"./shop"}
	p.Prerequisites.Off, p.Ordering.Off, p.Ordering.Given = true, true, true
	p.Set, p.Adopt, p.TakeOver, p.Prune, p.PruneNamespaces, p.CreateNamespace = "shop", "any", true, true, true, true
	p.FieldManager, p.ForceConflicts.Managers = "ci", []string{"helm", "kubectl"}
	text, err := json.Marshal(PlanFile{Version: planFileVersion, Operation: p})
	require.NoError(t, err)
	file, err := parsePlanFile("plan.json", text)
	require.NoError(t, err)
	file.Operation.Cluster = p.Cluster
	require.Equal(t, p, file.Operation)
}

func TestMalformedPlanFiles(t *testing.T) {
	const head = `{"version":3,"server":"s",`
	for text, want := range map[string]string{
		``:               "is not a plan",
		`[]`:             "is not a plan",
		`{}`:             "is not a plan",
		`{"version":2}`:  "another version of ordapply: plan again",
		`{"version":99}`: "another version of ordapply: plan again",
		head + `"operation":{"files":"a"},"resources":[]}`:                                                                                "cannot unmarshal",
		head + `"operation":{"exec":true},"resources":[]}`:                                                                                `unknown field "exec"`,
		head + `"operation":{"Exec":true},"resources":[]}`:                                                                                `unknown field "Exec"`,
		head + `"operation":{"kustomize":"base"},"resources":[]}`:                                                                         `unknown field "kustomize"`,
		head + `"operation":{"Cluster":{"BearerToken":"a"}},"resources":[]}`:                                                              `unknown field "Cluster"`,
		head + `"operation":{"prune":"perhaps"},"resources":[]}`:                                                                          "cannot unmarshal",
		head + `"operation":{"prune":true},"resources":[]}`:                                                                               "--prune requires an apply set",
		head + `"operation":{"forceConflicts":""},"resources":[]}`:                                                                        "it is empty",
		head + `"salt":"","resources":[]}`:                                                                                                `unknown field "salt"`,
		head + `"resources":[{}]}`:                                                                                                        "has no kind or name",
		head + `"resources":[{"kind":"A","name":"a","action":"destroy","seal":"x"}]}`:                                                     `unknown action "destroy"`,
		head + `"resources":[{"kind":"A","name":"a","action":"error","seal":"x"}]}`:                                                       `unknown action "error"`,
		head + `"resources":[{"kind":"A","name":"a","action":"create"}]}`:                                                                 "has no digest",
		head + `"resources":[{"kind":"A","name":"a","action":"create","seal":"x"},{"kind":"A","name":"a","action":"create","seal":"x"}]}`: "duplicate A a",
	} {
		_, err := parsePlanFile("plan.json", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := parsePlanFile("plan.json", []byte(head+`"resources":[]} {}`))
	require.Error(t, err)
}

func TestAPlanIsForOneCluster(t *testing.T) {
	file := PlanFile{Cluster: "one", Server: "https://a"}
	require.NoError(t, file.sameCluster("one", "https://b"), "the same by another way")
	require.ErrorContains(t, file.sameCluster("two", "https://a"), "the plan was made for another cluster")
	require.NoError(t, file.sameCluster("", "https://a"))
	require.ErrorContains(t, file.sameCluster("", "https://b"), "cannot be read")
}

// Any plan file is either rejected or only sets options of the manifests, and comparing it
// terminates.
func FuzzPlanFile(f *testing.F) {
	f.Add(`{"version":3,"server":"https://a","namespace":"shop","operation":{"files":["a.yaml","b.yaml"],"set":"shop","prune":true},"resources":[{"kind":"ConfigMap","namespace":"shop","name":"a","wave":1,"action":"update","seal":"x"}]}`)
	f.Add(`{"version":3,"operation":{"files":[]},"resources":null}`)
	f.Add(`{"version":3,"operation":{"exec":true,"Kustomize":"x"},"build":{"kustomize":"x","allowed":["enable-exec"]}}`)
	f.Add(`{"version":2,"salt":"","resources":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parsePlanFile("plan.json", []byte(text))
		if err != nil {
			return
		}
		require.Empty(t, file.Operation.Kustomize)
		require.False(t, file.Operation.Plugins || file.Operation.Exec)
		require.Equal(t, NewPreview().Cluster, file.Operation.Cluster)
		file.Notes()
		file.differences([]preview.Row{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Wave: 1, Action: preview.ActionUpdate}}, nil)
		_ = file.sameCluster("one", "https://b")
	})
}
