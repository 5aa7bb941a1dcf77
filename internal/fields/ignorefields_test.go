package fields_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/fields"
)

const manifest = `
metadata: {annotations: {example.com/a: x, ordapply.dev/applied: v1}}
spec:
  replicas: 2
  containers:
  - {name: app, image: app:v1, ports: [{containerPort: 80, name: web}]}
  - {name: side, image: side:v1}
data: {app.level: info}
`

// All notations of a path remove the same fields: the notation of conflicts, JSON
// pointers, and paths written by hand.
func TestRemoveFieldsInEveryNotation(t *testing.T) {
	for path, want := range map[string]string{
		"spec.replicas":                      "replicas: 2",
		".spec.replicas":                     "replicas: 2",
		"/spec/replicas":                     "replicas: 2",
		"spec['replicas']":                   "replicas: 2",
		"spec.containers[name=app].image":    "image: app:v1",
		`.spec.containers[name="app"].image`: "image: app:v1",
		"spec.containers.[name=app].image":   "image: app:v1",
		"spec.containers[*].image":           "image: app:v1 image: side:v1",
		"spec.containers[name=side]":         "name: side image: side:v1",
		`.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"].name`: "name: web",
		".metadata.annotations.example.com/a":                                      "example.com/a: x",
		"/metadata/annotations/example.com~1a":                                     "example.com/a: x",
		"data.app.level":                                                           "app.level: info",
		"stringData.app.level":                                                     "app.level: info",
		"spec.paused":                                                              "",
		"metadata.annotations":                                                     "example.com/a: x ordapply.dev/applied: v1",
		"spec.replicas,\n  spec.containers[name=app].image":                        "replicas: 2 image: app:v1",
	} {
		paths, err := fields.Parse(path)
		require.NoError(t, err, path)
		var whole map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(manifest), &whole))
		before := words(t, whole)
		after := words(t, fields.Remove(paths, whole))
		for _, line := range strings.Fields(want) {
			at := before[line]
			require.Equal(t, at-strings.Count(" "+want+" ", " "+line+" "), after[line], "%s: %s", path, line)
		}
	}
}

// words counts the words of a value in YAML.
func words(t *testing.T, value any) map[string]int {
	text, err := yaml.Marshal(value)
	require.NoError(t, err)
	count := map[string]int{}
	for _, word := range strings.Fields(string(text)) {
		count[word]++
	}
	return count
}

func TestParseErrors(t *testing.T) {
	for value, want := range map[string]string{
		"":                     "names no field: write paths such as spec.replicas",
		"spec..replicas":       `path spec..replicas: a field name is missing before ".replicas"`,
		"spec.containers[0]":   "path spec.containers[0]: a list item is selected by its keys, as in containers[name=app], or [*] for all",
		"/spec/containers/0":   "path /spec/containers/0: a list item is selected by its keys, as in containers[name=app], or [*] for all",
		"spec.containers[app]": "path spec.containers[app]: [app]: write keys with values, as in [name=app], [*] for all items, or a quoted name",
		"kind":                 "path kind: identifies the object",
		"metadata.name":        "path metadata.name: of the metadata, only annotations, labels, finalizers and ownerReferences can be ignored",
		"status.phase":         "path status.phase: the status is never sent: leave it out",
		"metadata.annotations.ordapply.dev/applied": "path metadata.annotations.ordapply.dev/applied: ordapply needs it",
		"a[": `path a[: a field name is missing before "["`,
	} {
		_, err := fields.Parse(value)
		require.EqualError(t, err, want, value)
	}
}

// Of others' fields, only those at the paths are left to them, and never the keys of an
// item: without these the API server refuses it. A path may select items by any field.
func TestLeaveFieldsToOtherManagers(t *testing.T) {
	for _, c := range []struct{ paths, manifest, foreign, want string }{
		{
			"metadata.labels", `{metadata: {labels: {a: x, b: x, applyset.kubernetes.io/part-of: s}}}`,
			`{"f:metadata":{"f:labels":{"f:applyset.kubernetes.io/part-of":{},"f:a":{}}}}`,
			`{metadata: {labels: {b: x, applyset.kubernetes.io/part-of: s}}}`,
		},
		{
			"containers[name=app].resources, containers[name=other].image", `{containers: [{name: app, image: v1, resources: {limits: {cpu: 1, memory: 1}}}]}`,
			`{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}}}`,
			`{containers: [{name: app, image: v1, resources: {limits: {memory: 1}}}]}`,
		},
		{
			"containers[name=side]", `{containers: [{name: app, image: v1}, {name: side, image: v1, tty: true}]}`,
			`{"f:containers":{"k:{\"name\":\"side\"}":{".":{},"f:name":{},"f:image":{}}}}`,
			`{containers: [{name: app, image: v1}, {name: side, tty: true}]}`,
		},
		{
			"ports[name=http].nodePort", `{ports: [{name: http, port: 80, nodePort: 1}, {name: udp, port: 80, protocol: UDP, nodePort: 2}]}`,
			`{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:nodePort":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{"f:nodePort":{}}}}`,
			`{ports: [{name: http, port: 80}, {name: udp, port: 80, protocol: UDP, nodePort: 2}]}`,
		},
		{
			"ports[protocol=UDP].nodePort", `{ports: [{port: 80, nodePort: 1}]}`,
			`{"f:ports":{"k:{\"port\":80,\"protocol\":\"UDP\"}":{"f:nodePort":{}},"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:nodePort":{}}}}`,
			`{ports: [{port: 80, nodePort: 1}]}`,
		},
		{"args[*], spec.selector.app", `{args: [a], spec: {selector: {app: x}}}`, `{"f:args":{},"f:spec":{"f:selector":{}}}`, `{args: [a], spec: {selector: {app: x}}}`},
	} {
		paths, err := fields.Parse(c.paths)
		require.NoError(t, err)
		foreign := &fieldpath.Set{}
		require.NoError(t, foreign.FromJSON(strings.NewReader(c.foreign)))
		var manifest, want map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(c.manifest), &manifest))
		require.NoError(t, yaml.Unmarshal([]byte(c.want), &want))
		fields.Leave(paths, manifest, foreign)
		require.Equal(t, want, manifest, c.paths)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"spec.replicas", "/a/b~1c", "a[x=1,y='2'].b[*]", ".a['b.c']"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := fields.Parse(text)
		if err != nil {
			return
		}
		var whole map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(manifest), &whole))
		fields.Remove(paths, whole)
		require.Empty(t, fields.Values(paths, whole), "%s: still there", text)
	})
}

func TestPathsInJQ(t *testing.T) {
	for text, want := range map[string]string{
		"spec.replicas": `.["spec"].["replicas"]`,
		"spec.template.spec.containers[name=app].image": `.["spec"].["template"].["spec"].["containers"][] | select(.["name"] == "app") | .["image"]`,
		"spec.ports[*]":                `.["spec"].["ports"][]`,
		"/metadata/annotations/a.b~1c": `.["metadata"].["annotations"].["a.b/c"]`,
	} {
		paths, err := fields.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, paths[0].JQ())
	}
}
