package sortorder_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/sortorder"
)

// TestSchemaFile keeps the file that editors read up to date.
func TestSchemaFile(t *testing.T) {
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile("schema.json", sortorder.Schema(), 0o644))
	}
	onDisk, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	require.Equal(t, string(onDisk), string(sortorder.Schema()), "schema.json is stale: make schema")
}

// TestSchemaAgreesWithParse validates the orders of the other tests: what is
// accepted must be valid, and what is refused for its form must not be.
func TestSchemaAgreesWithParse(t *testing.T) {
	var schema spec.Schema
	require.NoError(t, json.Unmarshal(sortorder.Schema(), &schema))
	validator := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	valid := func(document []byte) bool {
		var tree any
		require.NoError(t, yaml.Unmarshal(document, &tree))
		return validator.Validate(tree).IsValid()
	}
	accepted, err := filepath.Glob("testdata/place/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, accepted)
	for _, file := range accepted {
		require.True(t, valid(withHeader(archiveOf(t, file)["order"])), file)
	}
	for _, name := range []string{"fields_and_types", "header", "no_object", "kep_empty_or_null_annotations", "kep_null_annotations", "type_order"} {
		archive := archiveOf(t, "testdata/refuse/"+name+".txtar")
		document := []byte(archive["document"])
		if archive["document"] == "" {
			document = withHeader(archive["order"])
		}
		require.False(t, valid(document), name)
	}
}
