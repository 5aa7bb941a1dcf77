package sortorder_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/sortorder"
)

// TestSchemaFile checks that the schema file for editors is up to date.
func TestSchemaFile(t *testing.T) {
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile("schema.json", sortorder.Schema(), 0o644))
	}
	onDisk, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	require.Equal(t, string(onDisk), string(sortorder.Schema()), "schema.json is stale: make schema")
}

// TestSchemaAgreesWithParse validates the orders of the other tests: valid if
// Parse accepts them, and invalid if it rejects their form.
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
	refused, err := filepath.Glob("testdata/refuse/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, refused)
	for _, file := range refused {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if slices.Contains(beyondASchema(), name) {
			continue
		}
		archive := archiveOf(t, file)
		document := []byte(archive["document"])
		if archive["document"] == "" {
			document = withHeader(archive["order"])
		}
		require.False(t, valid(document), name)
	}
	for _, order := range []string{
		"sortOrder: [{kind: ''}]", "sortOrder: [{name: ''}]", "sortOrder: [{matchExpressions: []}]", "sortOrder: [{labelSelector: {}}]",
		"sortOrder: [{matchExpressions: [{operator: Exists}]}]", "sortOrder: [{matchExpressions: [{key: a}]}]",
		"sortOrder: [{matchExpressions: [{key: a, operator: Exists, values: [b]}]}]", "sortOrder: [{matchExpressions: [{key: a, operator: In}]}]",
		"sortOrder: [{kind: A, timeout: 5 minutes}]", "sortOrder: [{kind: A, layer: 'a, b'}]", "sortOrder: [{layer: a}]",
		"sortOrder: [{matchAnnotations: {a: ''}}]", "layers: [{dependsOn: [a]}]", "typeOrder: {first: ['']}", "of: a", "carry: unpack",
		"stacks: [{applications: []}]", "stacks: [{name: a, applications: [{name: b}]}]", "stacks: [{name: a, applications: [{kind: B}]}]",
		"health: [{readyWhen: 'true'}]", "timeouts: {Job: soon}",
		"sortOrder: [{kind: A, layer: ''}]", "sortOrder: [{kind: A, gate: ''}]", "sortOrder: [{kind: A, timeout: ''}]", "typeOrder: ''",
		"typeOrder: {default: ''}", "carry: ''", "carry: unpack\nof: ''", "stacks: [{name: a, timeout: ''}]", "timeouts: {Job: ''}",
	} {
		require.False(t, valid(withHeader(order)), order)
	}
	require.False(t, valid([]byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: a/b}\n")))
	for _, order := range []string{
		"sortOrder: [{matchExpressions: [{key: a, operator: DoesNotExist}], timeout: 1h30m}]", "carry: pack", "timeouts: {Job: 90s}",
		"stacks: [{name: a, timeout: 5m, applications: [{name: b, kind: C}]}]",
	} {
		require.True(t, valid(withHeader(order)), order)
	}
}

// beyondASchema returns the cases that Parse rejects for reasons that a schema
// cannot express: combinations of fields, or the format of a string.
func beyondASchema() []string {
	return []string{
		"duplicate_keys", "no_yaml", "two_documents", "kep_later_selector_is_contained", "layer_cycle", "one_layer_name_twice", "one_selector_twice",
		"shadow_by_one", "shadow_by_several", "unmatched_twice",
	}
}
