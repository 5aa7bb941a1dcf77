package preflight_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/openapi"
)

// published are the schemas of an API server, by path.
type published map[string]string

func (p published) Paths() (map[string]openapi.GroupVersion, error) {
	paths := map[string]openapi.GroupVersion{}
	for path, text := range p {
		paths[path] = document(text)
	}
	return paths, nil
}

type document string

func (d document) Schema(string) ([]byte, error) { return []byte(d), nil }
func (d document) ServerRelativeURL() string     { return "" }

// schemaOf returns a document with one kind, which has metadata and a field.
func schemaOf(group, kind, field string) string {
	return `{"components": {"schemas": {"` + kind + `": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "` + group + `", "version": "v1", "kind": "` + kind + `"}],
		"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"x-kubernetes-preserve-unknown-fields": true}, "` + field + `": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}`
}

// A misspelt field is an error, unless a value is still to be filled in. Of a custom resource
// the API server, which accepts everything here, is asked: its definition may be newer than the
// published schema.
func TestFieldErrors(t *testing.T) {
	const (
		typo   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: typo, namespace: shop}, dta: {}}"
		filled = "{apiVersion: v1, kind: ConfigMap, metadata: {name: filled, namespace: shop, annotations: {config.kubernetes.io/apply-time-mutation: '[]'}}, dta: {}}"
		newer  = "{apiVersion: own.dev/v1, kind: Widget, metadata: {name: newer, namespace: shop}, spce: {}}"
		silent = "{apiVersion: other.dev/v1, kind: Thing, metadata: {name: silent, namespace: shop}, any: {}}"
	)
	c, _ := checksOf(t, typo, filled, newer, silent)
	require.NoError(t, c.FieldErrors(t.Context())(0), "without schemas")
	c.Schemas = published{"api/v1": schemaOf("", "ConfigMap", "data"), "apis/own.dev/v1": schemaOf("own.dev", "Widget", "spec")}
	found := c.FieldErrors(t.Context())
	require.EqualError(t, found(0), "the manifest has a field that its kind does not define: dta (did you mean data?)")
	for i := 1; i < 4; i++ {
		require.NoError(t, found(i), c.Plan.Steps[i].ID.Name)
	}
}
