// Package cases runs the cases of the repository's testdata folder. A case is a stream, its
// order, and the results: see testdata/README.md.
package cases

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/sortorder"
)

// TestCases runs each case through packages fn and ordering and through both
// commands. They must give the same stamped stream, plan and errors, and these must
// be the files of the case. ORDAPPLY_GOLDEN=1 rewrites the files.
func TestCases(t *testing.T) {
	root := filepath.Join("..", "..", "testdata")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	page := string(read(t, root, "README.md"))
	bin := buildCommands(t)
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			require.True(t, strings.Contains(page, "| `"+entry.Name()+"` |"), "testdata/README.md does not list the case")
			c := readCase(t, filepath.Join(root, entry.Name()), bin)
			c.compare(t, c.outputs(t))
		})
	}
}

// spec is the file case.yaml.
type spec struct {
	Shows  string `json:"shows"`
	Stream string `json:"stream"` // a file, or a kustomization to build; default stream.yaml
	Order  string `json:"order"`  // default order.yaml, if it exists
	Chart  string `json:"chart"`  // folder of the Helm chart that the stream was rendered from
}

// testCase is a case in a working folder of its own: there the stream is
// stream.yaml and the order order.yaml, which messages name.
type testCase struct {
	commands
	folder string // of the repository
	stream []byte
	order  []byte // nil if the stream has no SortOrder
	chart  string // absolute path; "" if there is none
}

func readCase(t *testing.T, folder, bin string) testCase {
	t.Helper()
	var s spec
	require.NoError(t, yaml.UnmarshalStrict(read(t, folder, "case.yaml"), &s))
	require.NotEmpty(t, s.Shows, "case.yaml does not say what the case shows")
	c := testCase{commands: commands{bin: bin, dir: t.TempDir()}, folder: folder}
	c.stream = readStream(t, folder, s.Stream)
	c.write(t, "stream.yaml", c.stream)
	_, err := os.Stat(filepath.Join(folder, "order.yaml"))
	switch {
	case s.Order != "":
		c.order = read(t, folder, s.Order)
	case err == nil:
		c.order = read(t, folder, "order.yaml")
	}
	if c.order != nil {
		c.write(t, "order.yaml", c.order)
	}
	if s.Chart != "" {
		c.chart, err = filepath.Abs(filepath.Join(folder, s.Chart))
		require.NoError(t, err)
	}
	return c
}

// readStream reads a stream, or builds it if it is a kustomization. The build skips
// functions that are programs: the case gives the order itself.
func readStream(t *testing.T, folder, name string) []byte {
	t.Helper()
	if name == "" {
		name = "stream.yaml"
	}
	path := filepath.Join(folder, name)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return read(t, folder, name)
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), path)
	require.NoError(t, err)
	text, err := built.AsYaml()
	require.NoError(t, err)
	return text
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return text
}

// outputs returns the output files of the case.
func (c testCase) outputs(t *testing.T) map[string]string {
	t.Helper()
	options, stacks := readStacks(t, c.order)
	options.Charts = readCharts(t, c.chart)
	inputs := readInputs(t, c.stream)
	if c.order == nil || stacks {
		plan := build(t, inputs, options)
		files := map[string]string{"plan.txt": c.plan(t, plan, "")}
		if c.order == nil {
			files["sorted.yaml"] = c.sorted(t, plan)
		}
		return files
	}
	order, err := sortorder.Parse(c.order)
	if err != nil {
		return map[string]string{"error.txt": c.refused(t, err)}
	}
	stamped := c.stamp(t, "order.yaml", c.order)
	c.requireOtherWays(t, stamped)
	files := map[string]string{"stamped.yaml": string(stamped.Stream())}
	findings := stampInMemory(t, order, inputs)
	require.Equal(t, stamped.Findings.Lines(), findings)
	plan := build(t, inputs, options)
	files["plan.txt"] = c.plan(t, plan, findings)
	c.requireWaves(t, plan, stamped.Stream())
	requireTextOrder(t, plan, stamped.Stream())
	for _, tool := range []string{"argocd", "kapp", "kpt"} {
		emitted := c.stamp(t, "emit-"+tool+".yaml", append(slices.Clone(c.order), "\nemit: ["+tool+"]\n"...))
		require.Equal(t, findings, emitted.Findings.Lines(), tool)
		requireLayersKept(t, stamped.Stream(), emitted.Stream())
		files["emit-"+tool+".yaml"] = string(emitted.Stream())
	}
	return files
}

// compare requires the output files of the case's folder, and no other ones.
func (c testCase) compare(t *testing.T, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(c.folder, name)
		if os.Getenv("ORDAPPLY_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(path, []byte(files[name]), 0o644))
		}
		require.Equal(t, string(read(t, c.folder, name)), files[name], name)
	}
	entries, err := os.ReadDir(c.folder)
	require.NoError(t, err)
	for _, entry := range entries {
		_, output := files[entry.Name()]
		input := slices.Contains([]string{"case.yaml", "stream.yaml", "order.yaml", "chart"}, entry.Name())
		require.True(t, output || input, "%s is not a file of this case: remove it", strings.TrimPrefix(filepath.Join(c.folder, entry.Name()), "../../"))
	}
}
