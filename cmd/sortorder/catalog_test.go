package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/sortorder"
)

// TestFunctionDefinition checks the schema in krm-function-metadata.yaml, and
// that kyaml reads the file as a catalog does.
func TestFunctionDefinition(t *testing.T) {
	const file = "krm-function-metadata.yaml"
	onDisk, err := os.ReadFile(file)
	require.NoError(t, err)
	var definition, schema map[string]any
	require.NoError(t, yaml.Unmarshal(onDisk, &definition))
	require.NoError(t, json.Unmarshal(sortorder.Schema(), &schema))
	delete(schema, "$schema")
	delete(schema, "$id")
	version := definition["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	version["schema"] = map[string]any{"openAPIV3Schema": schema}
	want, err := yaml.Marshal(definition)
	require.NoError(t, err)
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, want, 0o644))
		onDisk = want
	}
	require.Equal(t, string(want), string(onDisk), "krm-function-metadata.yaml is stale: make schema")
	read, err := framework.SchemaFromFunctionDefinition(resid.NewGvk("ordapply.dev", "v1alpha1", "SortOrder"), string(onDisk))
	require.NoError(t, err)
	require.Contains(t, read.Properties, "sortOrder")
}

// TestFunctionMetadata checks that both files of the catalogs agree with the program, and that
// krm-function-metadata.yaml has the fields that the registry of functions requires
// (KEP-2906, kubernetes-sigs/krm-functions-registry).
func TestFunctionMetadata(t *testing.T) {
	var definition framework.KRMFunctionDefinition
	var catalog struct{ Image, Description, License string }
	for file, into := range map[string]any{"krm-function-metadata.yaml": &definition, "metadata.yaml": &catalog} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	require.Equal(t, kyaml.TypeMeta{APIVersion: framework.FunctionDefinitionGroupVersion, Kind: framework.FunctionDefinitionKind}, definition.TypeMeta)
	spec := definition.Spec
	require.Len(t, spec.Versions, 1)
	version := spec.Versions[0]
	require.Equal(t, sortorder.APIVersion, spec.Group+"/"+version.Name)
	require.Equal(t, sortorder.Kind, spec.Names.Kind)
	require.Equal(t, catalog.Image, version.Runtime.Container.Image)
	require.Equal(t, catalog.Description, spec.Description)
	require.True(t, version.Idempotent)
	require.NotEmpty(t, version.Examples)
	require.NotEmpty(t, version.Usage)
	require.NotEmpty(t, spec.Publisher)
	require.Equal(t, "Apache 2.0", version.License) // the registry's words, and the catalog's
	require.Equal(t, "Apache-2.0", catalog.License)
	license, err := os.ReadFile("../../LICENSE")
	require.NoError(t, err)
	require.Contains(t, string(license), "Apache License")
}

// TestCatalogLinks checks that the targets of the catalog's files exist in this
// repository.
func TestCatalogLinks(t *testing.T) {
	for _, file := range []string{"metadata.yaml", "krm-function-metadata.yaml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		links := regexp.MustCompile(`https://github.com/ordapply/ordapply/(?:blob|tree)/main/(\S+)`).FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, links)
		for _, link := range links {
			_, err := os.Stat(filepath.Join("../..", link[1]))
			require.NoError(t, err, "%s points at it", file)
		}
	}
}

// TestCatalogExamples runs each example package as kpt fn render does, and
// compares the resulting git diff with .expected/diff.patch, as the catalog
// does.
func TestCatalogExamples(t *testing.T) {
	packages, err := filepath.Glob("../../examples/sortorder-*")
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	for _, source := range packages {
		t.Run(filepath.Base(source), func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
			git(t, dir, "init", "-q")
			git(t, dir, "add", ".")
			render(t, dir)
			render(t, dir) // must change nothing
			expected := filepath.Join(source, ".expected", "diff.patch")
			patch := git(t, dir, "diff", "--abbrev=7")
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(expected, []byte(patch), 0o644))
			}
			want, err := os.ReadFile(expected)
			require.NoError(t, err)
			require.Equal(t, string(want), patch)
		})
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// render reads a package as kpt does, runs the function of its Kptfile and
// writes the package back.
func render(t *testing.T, dir string) {
	t.Helper()
	files := &kio.LocalPackageReadWriter{PackagePath: dir, MatchFilesGlob: []string{"*.yaml", "Kptfile"}, PreserveSeqIndent: true, WrapBareSeqNode: true}
	items, err := files.Read()
	require.NoError(t, err)
	var list, stdout, stderr bytes.Buffer
	require.NoError(t, kio.ByteWriter{
		Writer: &list, KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion,
		FunctionConfig: functionConfig(t, dir, items),
	}.Write(items))
	require.Zero(t, run(nil, &list, &stdout, &stderr), stderr.String())
	items, err = (&kio.ByteReader{Reader: &stdout, OmitReaderAnnotations: true}).Read()
	require.NoError(t, err)
	require.NoError(t, files.Write(items))
}

// functionConfig returns the config that the Kptfile among the items gives its
// first mutator.
func functionConfig(t *testing.T, dir string, items []*kyaml.RNode) *kyaml.RNode {
	t.Helper()
	for _, item := range items {
		if item.GetKind() != "Kptfile" {
			continue
		}
		mutator, err := item.Pipe(kyaml.Lookup("pipeline", "mutators", "-"))
		require.NoError(t, err)
		if path := mutator.Field("configPath"); path != nil {
			text, err := os.ReadFile(filepath.Join(dir, path.Value.YNode().Value))
			require.NoError(t, err)
			return kyaml.MustParse(string(text))
		}
		config := kyaml.MustParse("{apiVersion: v1, kind: ConfigMap, metadata: {name: function-input}}")
		require.NoError(t, config.PipeE(kyaml.SetField("data", mutator.Field("configMap").Value)))
		return config
	}
	require.Fail(t, "the package has no Kptfile")
	return nil
}
