package write

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parseSelector(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj))
	return &unstructured.Unstructured{Object: obj}
}

func TestKeep(t *testing.T) {
	const live = `{spec: {selector: {matchLabels: {app: a, kapp.k14s.io/app: "1"}}, template: {}, volumeClaimTemplates: [{metadata: {name: data, labels: {kapp.k14s.io/association: x, mine: y}}}]}}`
	for body, want := range map[string]string{ // "" for no change
		`{spec: {selector: {matchLabels: {app: a}}}}`:                              `{spec: {selector: {matchLabels: {app: a, kapp.k14s.io/app: "1"}}}}`,
		`{spec: {selector: {matchLabels: {app: a, kapp.k14s.io/app: "1"}}}}`:       "",
		`{spec: {selector: {matchLabels: {app: a, kapp.k14s.io/app: "2"}}}}`:       "",
		`{spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}`:               `{spec: {volumeClaimTemplates: [{metadata: {name: data, labels: {kapp.k14s.io/association: x}}}]}}`,
		`{spec: {volumeClaimTemplates: [{metadata: {name: data, labels: text}}]}}`: "",
		`{spec: {volumeClaimTemplates: [{metadata: {name: other}}]}}`:              "",
		`{spec: {}}`: "",
		`{}`:         "",
	} {
		sent := parseSelector(t, body)
		require.Equal(t, want != "", KeepKappLabels(sent, parseSelector(t, live)), body)
		if want == "" {
			want = body
		}
		require.Equal(t, parseSelector(t, want), sent, body)
	}
	service := parseSelector(t, `{spec: {selector: {app: a}}}`)
	require.False(t, KeepKappLabels(service, parseSelector(t, `{spec: {selector: {app: a, kapp.k14s.io/app: "1"}}}`)), "no workload")
}
