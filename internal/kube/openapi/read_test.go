package openapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What comes before the schemas is left out; a document of another form is kept.
func TestFromComponents(t *testing.T) {
	require.Equal(t, `{"components":{"schemas":{"a":{}}},"security":[]}`, string(fromComponents([]byte(`{"openapi":"3.0.0","paths":{"/":{}},"components":{"schemas":{"a":{}}},"security":[]}`))))
	for _, text := range []string{`{"components":{"schemas":{"a":{}}},"paths":{}}`, `{ "openapi": "3.0.0", "components": {"schemas": {}}}`, ``} {
		require.Equal(t, text, string(fromComponents([]byte(text))))
	}
}
