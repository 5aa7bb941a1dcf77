package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/view/diff"
	"github.com/ordapply/ordapply/test/seeds"
)

// Each case has two objects and the lines that describe their differences.
func TestDifferencesAsText(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"same", "{a: 1, b: [x]}", "{b: [x], a: 1}", ""},
		{"scalar", "{spec: {replicas: 1}}", "{spec: {replicas: 2}}", "spec.replicas: 1 -> 2"},
		{"another type", `{a: "1"}`, "{a: 1}", `a: "1" -> 1`},
		{"null is a value", "{a: null}", "{a: {}}", "a: null -> {}"},
		{"added with all below", "{}", "{spec: {x: {z: 1}}}", `+ spec: {"x":{"z":1}}`},
		{"removed", "{a: 1, b: two}", "{a: 1}", "- b: two"},
		{"key that needs brackets", "{metadata: {labels: {app.kubernetes.io/name: a}}}", "{metadata: {labels: {app.kubernetes.io/name: b}}}", `metadata.labels["app.kubernetes.io/name"]: a -> b`},
		{"item by name", "{c: [{name: a, image: x}, {name: b, image: x}]}", "{c: [{name: a, image: x}, {name: b, image: z}]}", "c[name=b].image: x -> z"},
		{"item in front", "{c: [{name: b}]}", "{c: [{name: a}, {name: b}]}", `+ c[name=a]: {"name":"a"}`},
		{"item at the end", "{c: [{name: a}]}", "{c: [{name: a}, {name: b}]}", `+ c[name=b]: {"name":"b"}`},
		{"all items gone", "{c: [{name: a}]}", "{c: []}", `- c[name=a]: {"name":"a"}`},
		{"order alone", "{c: [{name: a}, {name: b}]}", "{c: [{name: b}, {name: a}]}", `c: now in the order ["name=b","name=a"]`},
		{"two keys", "{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, x: 1}]}", "{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, x: 2}]}", "ports[port=53,protocol=UDP].x: 1 -> 2"},
		{"two of one name go by position", "{l: [{name: a}, {name: a}]}", "{l: [{name: a}, {name: b}]}", "l[1].name: a -> b"},
		{"no name", "{l: [{x: 1}]}", "{l: [{x: 2}, {x: 3}]}", "l[0].x: 1 -> 2\n+ l[1]: {\"x\":3}"},
		{"scalars as one", "{args: [a, b]}", "{args: [a, c]}", `args: ["a","b"] -> ["a","c"]`},
		{"several lines", "{data: {f: \"one\\ntwo\\nthree\\n\"}}", "{data: {f: \"one\\n2\\nthree\\n\"}}", "data.f:\n  - two\n  + 2"},
		{"the last line break", "{f: \"a\\nb\\n\"}", "{f: \"a\\nb\"}", "f:\n  - b\n  + b (no line break at the end)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			for _, change := range diff.Between(parse(t, c.before), parse(t, c.after)) {
				lines = append(lines, change.Lines(10)...)
			}
			require.Equal(t, c.want, strings.Join(lines, "\n"))
		})
	}
}

// For two random objects: there are no changes exactly if they are equal; every
// change has its own path; the reverse comparison gives the reversed changes;
// and changing one field gives one change.
func TestPropertiesOfADifference(t *testing.T) {
	for seed := range seeds.UpTo(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		before := randomObject(rng, 4)
		after := runtime.DeepCopyJSON(before)
		for range rng.IntN(4) {
			mutate(rng, after)
		}
		if rng.IntN(5) == 0 {
			after = randomObject(rng, 4)
		}
		there, back := diff.Between(before, after), diff.Between(after, before)
		require.Equal(t, asJSON(t, before) == asJSON(t, after), len(there) == 0, "seed %d: %s and %s", seed, asJSON(t, before), asJSON(t, after))
		require.Equal(t, places(there), places(mirrored(back)), "seed %d: %s and %s", seed, asJSON(t, before), asJSON(t, after))
		all := places(there)
		require.Len(t, slices.Compact(slices.Clone(all)), len(all), "seed %d: %v", seed, all)
	}
}

func TestOneChangeIsReportedOnce(t *testing.T) {
	for seed := range seeds.UpTo(500) {
		rng := rand.New(rand.NewPCG(seed, 11))
		before := map[string]any{"spec": map[string]any{"other": randomObject(rng, 3), "items": []any{}}}
		var items []any
		for i := range 1 + rng.IntN(5) {
			items = append(items, map[string]any{"name": fmt.Sprint("n", i), "value": int64(i)})
		}
		before["spec"].(map[string]any)["items"] = items
		after := runtime.DeepCopyJSON(before)
		at := rng.IntN(len(items))
		after["spec"].(map[string]any)["items"].([]any)[at].(map[string]any)["value"] = int64(99)
		require.Equal(t, []diff.Change{{
			Path: fmt.Sprintf("spec.items[name=n%d].value", at), Kind: diff.Changed, Before: int64(at), After: int64(99),
		}}, diff.Between(before, after))
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// places returns the changes as text, sorted.
func places(changes []diff.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, fmt.Sprint(c.Path, " ", c.Kind, " ", c.Before, " ", c.After))
	}
	slices.Sort(out)
	return out
}

func mirrored(changes []diff.Change) []diff.Change {
	out := slices.Clone(changes)
	for i, c := range out {
		out[i].Before, out[i].After = c.After, c.Before
		switch c.Kind {
		case diff.Added:
			out[i].Kind = diff.Removed
		case diff.Removed:
			out[i].Kind = diff.Added
		}
	}
	return out
}

func randomObject(rng *rand.Rand, depth int) map[string]any {
	out := map[string]any{}
	for range rng.IntN(4) {
		out[string(rune('a'+rng.IntN(5)))] = randomValue(rng, depth-1)
	}
	return out
}

func randomValue(rng *rand.Rand, depth int) any {
	switch kind := rng.IntN(7); {
	case kind == 0:
		return nil
	case kind == 1:
		return rng.IntN(2) == 0
	case kind == 2:
		return int64(rng.IntN(3))
	case kind == 3 || depth == 0:
		return []string{"", "x", "two\nlines", "a -> b"}[rng.IntN(4)]
	case kind == 4:
		return randomObject(rng, depth)
	}
	list := []any{}
	for range rng.IntN(4) {
		item := randomObject(rng, depth)
		if rng.IntN(4) > 0 {
			item["name"] = string(rune('p' + rng.IntN(6)))
		}
		list = append(list, item)
	}
	return list
}

// mutate randomly changes an object at some depth, or not at all.
func mutate(rng *rand.Rand, object map[string]any) {
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			mutate(rng, value)
		case []any:
			rng.Shuffle(len(value), func(i, j int) { value[i], value[j] = value[j], value[i] })
		default:
			object[key] = randomValue(rng, 2)
		}
		if rng.IntN(2) == 0 {
			return
		}
	}
	object["new"] = randomValue(rng, 2)
}
