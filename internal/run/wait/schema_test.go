package wait

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestDeclares(t *testing.T) {
	const declared = `
type: object
required: [spec]
properties:
  apiVersion: {type: string}
  spec:
    type: object
    properties:
      size: {type: integer, default: 1, description: declared}
      names: {type: array, items: {type: object, properties: {name: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`
	for name, c := range map[string]struct {
		published string
		want      bool
	}{
		"none": {"", false},
		"with what the API server adds": {`
type: object
required: [spec]
x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {allOf: [{$ref: '#/x'}]}
  spec:
    type: object
    properties:
      size: {type: integer, default: 1.0}
      names: {type: array, items: {type: object, properties: {name: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`, true},
		"without a property": {`{type: object, required: [spec], properties: {spec: {type: object}}}`, false},
		"with a property that is gone": {`
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      old: {type: string}
      size: {type: integer, default: 1}
      names: {type: array, items: {type: object, properties: {name: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`, false},
		"with another default": {`
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      size: {type: integer, default: 2}
      names: {type: array, items: {type: object, properties: {name: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`, false},
		"with other items": {`
type: object
required: [spec]
properties:
  spec:
    type: object
    properties:
      size: {type: integer, default: 1}
      names: {type: array, items: {type: object, properties: {title: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, declares(read(t, declared), read(t, c.published)))
		})
	}
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	var schema map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &schema))
	return schema
}
