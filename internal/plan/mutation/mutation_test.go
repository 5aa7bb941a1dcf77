package mutation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/object"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	text2, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(text2))
	return obj.Object
}

func annotated(text string) map[string]string { return map[string]string{mutation.Annotation: text} }

const source = `
apiVersion: example.com/v1
kind: Address
metadata: {name: a, uid: u}
spec: {ports: [{name: http, port: 80}, {name: admin, port: 9007199254740993}], half: 0.5, open: true}
status: {address: 10.0.0.7, none: null}
`

const target = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop}
data: {url: 'http://${ip}:${port}/${ip}', whole: PLACEHOLDER, number: 1}
list: [{name: x, value: X}, {name: z, value: Z}]
`

// The values and their notation follow cli-utils; kapply confirms them in
// TestMutationAsKapply of cmd/ordapply.
func TestFill(t *testing.T) {
	entry := func(from, to, token string) string {
		return "- {sourceRef: {group: example.com, kind: Address, name: a}, sourcePath: \"" + from + "\", targetPath: \"" + to + "\", token: '" + token + "'}\n"
	}
	for name, c := range map[string]struct {
		entries string
		at      []string
		want    any
	}{
		"a token, wherever it is": {entry("$.status.address", "$.data.url", "${ip}"), []string{"data", "url"}, "http://10.0.0.7:${port}/10.0.0.7"},
		"two entries for a field": {entry("$.status.address", "$.data.url", "${ip}") + entry("$.spec.ports[0].port", "$.data.url", "${port}"), []string{"data", "url"}, "http://10.0.0.7:80/10.0.0.7"},
		"the whole field":         {entry("$.status.address", "$.data.whole", ""), []string{"data", "whole"}, "10.0.0.7"},
		"a large number":          {entry("$.spec.ports[1].port", "$.data.number", ""), []string{"data", "number"}, int64(9007199254740993)},
		"a filter":                {entry(`$.spec.ports[?(@.name=='http')].port`, `$.data.whole`, "PLACE"), []string{"data", "whole"}, "80HOLDER"},
		"a fraction":              {entry("$.spec.half", "$.data.whole", "PLACEHOLDER"), []string{"data", "whole"}, "0.5"},
		"a boolean":               {entry("$.spec.open", "$.data.whole", ""), []string{"data", "whole"}, true},
		"null":                    {entry("$.status.none", "$.data.whole", "PLACEHOLDER"), []string{"data", "whole"}, "null"},
		"a map as text":           {entry("$.spec.ports[0]", "$.data.whole", "PLACEHOLDER"), []string{"data", "whole"}, `{"name":"http","port":80}`},
		"a length":                {entry("$.spec.ports.length", "$.data.whole", ""), []string{"data", "whole"}, int64(2)},
		"the token is gone":       {entry("$.status.address", "$.data.whole", "${ip}"), []string{"data", "whole"}, "PLACEHOLDER"},
		"brackets":                {entry("$['status']['address']", "$['data']['whole']", ""), []string{"data", "whole"}, "10.0.0.7"},
		"inside of an earlier one": {
			entry("$.spec.ports[0]", "$.data.whole", "") + entry("$.status.address", "$.data.whole.name", ""), []string{"data", "whole", "name"}, "10.0.0.7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := mutation.Of(annotated(c.entries))
			require.NoError(t, err)
			manifest := parsed(t, target)
			require.NoError(t, mutation.CheckTargets(manifest, entries))
			values := make([]mutation.Value, len(entries))
			for i, e := range entries {
				values[i].Is, err = e.Read(parsed(t, source))
				require.NoError(t, err)
			}
			filled, places, err := mutation.Fill(manifest, entries, values)
			require.NoError(t, err)
			require.Empty(t, places, "none of them is secret")
			got, _, _ := unstructured.NestedFieldNoCopy(filled, c.at...)
			require.Equal(t, c.want, got)
			require.Equal(t, parsed(t, target), manifest, "the manifest is changed")
		})
	}
}

func TestErrorsNameEntryAndPath(t *testing.T) {
	const ok = "- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: $.data.a, targetPath: $.data.whole}\n"
	for text, want := range map[string]string{
		"a text": "annotation config.kubernetes.io/apply-time-mutation: it must be a list of sourceRef, sourcePath, targetPath and token: ",
		ok + "- {sourceRef: {name: a}, sourcePath: $.a, targetPath: $.b}":                                   "entry 2: sourceRef needs kind and name",
		"- {sourceRef: {kind: ConfigMap, name: a}, from: x, sourcePath: $.a, targetPath: $.b}":              `must be a list`,
		"- {sourceRef: {kind: ConfigMap, name: a}, targetPath: $.b}":                                        "entry 1: sourcePath: it is missing",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: .data.a, targetPath: $.b}":                   "entry 1: sourcePath .data.a: it must begin with $",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.data[', targetPath: $.b}":                 "entry 1: sourcePath $.data[: it is no JSONPath",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$..a..b', targetPath: $.b}":                 "entry 1: sourcePath $..a..b: it has more than one ..",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.a', targetPath: $.data.gone}":             "entry 1: targetPath $.data.gone: the manifest has no such field: write it with a placeholder",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.a', targetPath: '$.data.*'}":              "entry 1: targetPath $.data.*: it matches 3 fields: it must match one",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.a', targetPath: $.metadata.name}":         "entry 1: targetPath $.metadata.name: it must be a field that does not identify the object",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.a', targetPath: $}":                       "entry 1: targetPath $: it must be a field that does not identify the object",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: '$.a', targetPath: $.data.number, token: x}": "entry 1: targetPath $.data.number: the field is no string, so token cannot be replaced in it: leave token out, or quote the field's value",
	} {
		entries, err := mutation.Of(annotated(text))
		if err == nil {
			err = mutation.CheckTargets(parsed(t, target), entries)
		}
		require.ErrorContains(t, err, want, text)
	}
	entries, err := mutation.Of(annotated("- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: $.gone, targetPath: $.data.whole}"))
	require.NoError(t, err)
	_, err = entries[0].Read(parsed(t, source))
	require.ErrorIs(t, err, mutation.ErrNoValue)
	require.EqualError(t, err, "sourcePath $.gone: there is no such field")
}

func TestReference(t *testing.T) {
	for text, want := range map[string]object.ID{
		"{kind: Service, name: a}":                                               {Kind: "Service", Name: "a"},
		"{kind: Service, apiVersion: v1, name: a, namespace: shop}":              {Kind: "Service", Namespace: "shop", Name: "a"},
		"{kind: Deployment, apiVersion: apps/v1, name: a}":                       {Group: "apps", Kind: "Deployment", Name: "a"},
		"{kind: Deployment, apiVersion: x/v1, group: apps, name: a}":             {Group: "apps", Kind: "Deployment", Name: "a"},
		"{kind: Project, group: resourcemanager.cnrm.cloud.google.com, name: a}": {Group: "resourcemanager.cnrm.cloud.google.com", Kind: "Project", Name: "a"},
	} {
		entries, err := mutation.Of(annotated("- {sourceRef: " + text + ", sourcePath: $.a, targetPath: $.b}"))
		require.NoError(t, err)
		require.Equal(t, want, entries[0].Source.ID())
	}
}

// A Secret's value by way of another object is secret too.
func TestSecretive(t *testing.T) {
	takes := func(name, kind, from string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: parsed(t, target)}
		obj.SetName(name)
		obj.SetAnnotations(annotated("- {sourceRef: {kind: " + kind + ", name: " + from + "}, sourcePath: $.data.a, targetPath: $.data.whole}"))
		return obj
	}
	secretive := mutation.SecretiveOf([]*unstructured.Unstructured{takes("c", "ConfigMap", "b"), takes("p", "ConfigMap", "q"), takes("b", "ConfigMap", "a"), takes("a", "Secret", "s")})
	require.Len(t, secretive, 3)
	require.NotContains(t, secretive, object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "p"})
}

func entriesOf(t *testing.T, texts ...string) []mutation.Entry {
	t.Helper()
	entries, err := mutation.Of(annotated("- {sourceRef: {kind: Secret, name: s}, sourcePath: $.data.a, " + strings.Join(texts, "}\n- {sourceRef: {kind: Secret, name: s}, sourcePath: $.data.a, ") + "}"))
	require.NoError(t, err)
	return entries
}

// A later entry finds nothing in the value of a Secret: neither its path nor its token
// reveals it.
func TestSecretsAreNotSearched(t *testing.T) {
	secret, public := mutation.Value{Is: "Y29ycmVj", Secret: true}, mutation.Value{Is: "public"}
	whole := func(fields map[string]any) any { return fields["data"].(map[string]any)["whole"] }

	filled, places, err := mutation.Fill(parsed(t, target), entriesOf(t, "targetPath: $.data.whole", "targetPath: $.data.whole, token: Y29"), []mutation.Value{secret, public})
	require.NoError(t, err)
	require.Equal(t, "Y29ycmVj", whole(filled))
	require.Equal(t, []mutation.Place{{"data", "whole"}}, places)

	for _, filter := range []string{`"$.list[?(@.value =~ '^Y29')].value"`, `"$.list[?(@.value =~ '^Zzz')].value"`} {
		_, _, err = mutation.Fill(parsed(t, target), entriesOf(t, "targetPath: '$.list[0].value'", "targetPath: "+filter), []mutation.Value{secret, public})
		require.ErrorContains(t, err, "the manifest has no such field", filter)
	}
	filled, places, err = mutation.Fill(parsed(t, target), entriesOf(t, `targetPath: "$.data[?(@ == 'PLACEHOLDER')]", token: HOLDER`, "targetPath: $.data.whole, token: PLACE"), []mutation.Value{secret, {Is: map[string]any{"n": int64(1)}, Secret: true}})
	require.NoError(t, err)
	require.Equal(t, `{"n":1}Y29ycmVj`, whole(filled))
	require.Equal(t, []mutation.Place{{"data", "whole"}, {"data", "whole"}}, places)

	filled, _, err = mutation.Fill(parsed(t, target), entriesOf(t, "targetPath: $.data.whole", "targetPath: $.data.whole.b"), []mutation.Value{{Is: map[string]any{"a": int64(1), "b": "x"}, Secret: true}, public})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": int64(1), "b": "public"}, whole(filled))
}

func TestSecretsAreTakenByPlainPaths(t *testing.T) {
	for path, plain := range map[string]bool{
		"$.data.password": true, "$['data']['tls.crt']": true, `$["data"]["a:b,c"]`: true, "$.spec.list[0].x": true,
		`$.data[?(@ =~ '^Y29')]`: false, "$.data.*": false, "$..password": false, "$.data['a','b']": false, "$.data[(@.length-1)]": false, "$.list[0:1]": false, "$.data[ 'a' ]": false,
	} {
		err := mutation.Entry{SourcePath: path}.CheckSecret()
		if plain {
			require.NoError(t, err, path)
			continue
		}
		require.ErrorIs(t, err, mutation.ErrNotPlain, path)
	}
}

// The targets of a live object are found with any values, in each item of a list. Identifying
// fields never change.
func TestTargetsOfALiveObject(t *testing.T) {
	for path, hidden := range map[string][]string{
		"$.data.whole":                             {"PLACEHOLDER"},
		"$.list[1].value":                          {"X", "Z"},
		"$.list[?(@.value=='PLACE')].value":        {"X", "Z"},
		"$.data[?(@=='gone')]":                     {"PLACEHOLDER", "http", "1"},
		"$..value":                                 {"X", "Z"},
		"$..[?(@.name=='gone')].value":             {"X", "Z"},
		"$['list'][-1:]['value']":                  {"X", "Z"},
		"$.data['whole','gone']":                   {"PLACEHOLDER"},
		"$..a..b is no path that can be evaluated": {"PLACEHOLDER", "X", "Z"},
		"$":                          {"PLACEHOLDER", "X", "Z"},
		"$..":                        {"PLACEHOLDER", "X", "Z"},
		"$..*":                       {"PLACEHOLDER", "X", "Z"},
		"$.metadata[?(@.name=='c')]": nil,
		"$.metadata[?(@.name=='c')].labels.app.other": nil,
	} {
		live := parsed(t, target)
		e := mutation.Entry{TargetPath: path}
		mutation.ChangeAt([]mutation.Place{e.Targets()}, live, func(any) any { return "(hidden)" })
		text, err := yaml.Marshal(live)
		require.NoError(t, err)
		for _, value := range hidden {
			require.NotContains(t, string(text), ": "+value+"\n", path)
		}
		if hidden == nil {
			require.Equal(t, parsed(t, target), live, path)
		}
		require.Equal(t, "ConfigMap", live["kind"], path)
	}
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{"$.a", "$..a", "$['a'][0]", `$.a[?(@.b=="c")].d`, "$.a[(@.length-1)]", "$[1:2:3]", "$.a,b", "$[", "$.a[?(@.b=~/x/)]"} {
		f.Add(path)
	}
	obj := map[string]any{"a": []any{map[string]any{"b": "c", "d": int64(1)}}, "metadata": map[string]any{"name": "x"}}
	f.Fuzz(func(t *testing.T, path string) {
		e := mutation.Entry{SourcePath: path, TargetPath: path}
		_, _ = e.Read(obj)
		if err := mutation.CheckTargets(obj, []mutation.Entry{e}); err == nil {
			filled, places, err := mutation.Fill(obj, []mutation.Entry{e}, []mutation.Value{{Is: "value", Secret: true}})
			require.NoError(t, err)
			require.Len(t, places, 1)
			mutation.ChangeAt([]mutation.Place{e.Targets()}, filled, func(any) any { return "(hidden)" })
			text, err := json.Marshal(filled)
			require.NoError(t, err)
			require.NotContains(t, string(text), `"value"`, "the targets of a live object do not contain the place that was filled")
		}
	})
}
