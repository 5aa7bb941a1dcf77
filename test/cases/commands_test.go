package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/fn"
	cliplan "github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// commands runs the programs in a working folder, without a cluster.
type commands struct {
	bin string // folder of the programs
	dir string
}

// result is the output of a command.
type result struct {
	stdout, stderr string
	code           int
}

// buildCommands builds both programs and returns their folder.
func buildCommands(t *testing.T) string {
	t.Helper()
	readSources(t)
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "./cmd/ordapply", "./cmd/sortorder")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// readSources lists the folders that the programs are built from: go test reuses a
// result unless a file or folder that the test read has changed.
func readSources(t *testing.T) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "localcluster") {
			return fs.SkipDir
		}
		return err
	})
	require.NoError(t, err)
}

func (c commands) run(t *testing.T, stdin []byte, name string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, bytes.NewReader(stdin), &stdout, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "KUBECONFIG=" + filepath.Join(c.dir, "none")}
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%s: %v", name, err)
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (c commands) write(t *testing.T, name string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
}

// flags are the flags of ordapply for the case.
func (c testCase) flags() []string {
	flags := []string{"-f", "stream.yaml"}
	if c.order != nil {
		flags = append(flags, "--order", "order.yaml")
	}
	if c.chart != "" {
		flags = append(flags, "--chart", c.chart)
	}
	return flags
}

// stamp returns the output of the function with an order, which sortorder must print.
func (c testCase) stamp(t *testing.T, name string, text []byte) fn.Output {
	t.Helper()
	order, err := sortorder.Parse(text)
	require.NoError(t, err)
	out := fn.Processor{Order: order}.Run(c.stream)
	c.write(t, name, text)
	require.Equal(t, printed(out), c.run(t, c.stream, "sortorder", "--order", name))
	return out
}

// printed returns an output as commands print it.
func printed(out fn.Output) result {
	return result{stdout: string(out.Stream()), stderr: out.Findings.Lines()}
}

// requireOtherWays requires that ordapply sort prints the output too, that sortorder
// changes nothing in it, and that it returns the same resources as a KRM function.
func (c testCase) requireOtherWays(t *testing.T, out fn.Output) {
	t.Helper()
	require.Equal(t, printed(out), c.run(t, nil, "ordapply", append([]string{"sort"}, c.flags()...)...))
	require.Equal(t, printed(out), c.run(t, out.Stream(), "sortorder", "--order", "order.yaml"), "a second run")
	list := c.run(t, resourceList(t, c.stream, c.order), "sortorder")
	require.Zero(t, list.code, list.stderr)
	require.Equal(t, items(t, out.Stream()), items(t, []byte(list.stdout)), "as a KRM function")
}

// resourceList returns the input of a KRM function.
func resourceList(t *testing.T, stream, order []byte) []byte {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(stream), OmitReaderAnnotations: true}).Read()
	require.NoError(t, err)
	var list bytes.Buffer
	require.NoError(t, kio.ByteWriter{
		Writer: &list, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion,
		FunctionConfig: kyaml.MustParse(string(order)),
	}.Write(nodes))
	return list.Bytes()
}

// items returns the resources of a stream or a ResourceList as JSON.
func items(t *testing.T, stream []byte) []string {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(stream), OmitReaderAnnotations: true}).Read()
	require.NoError(t, err)
	var out []string
	for _, node := range nodes {
		text, err := node.MarshalJSON()
		require.NoError(t, err)
		out = append(out, string(text))
	}
	return out
}

// plan returns the output of ordapply plan, which must print the plan and the
// findings. The whole plan, as ordapply graph prints it, must be the same too.
func (c testCase) plan(t *testing.T, plan *ordering.Plan, findings string) string {
	t.Helper()
	var text, document bytes.Buffer
	require.NoError(t, cliplan.WriteWaves(&text, plan, cliplan.Style{}))
	require.NoError(t, drawing.PlanJSON(&document, plan))
	got := c.run(t, nil, "ordapply", append([]string{"plan", "--dry-run=client"}, c.flags()...)...)
	require.Equal(t, result{stdout: text.String(), stderr: findings}, got)
	drawn := c.run(t, nil, "ordapply", append([]string{"graph", "-o", "json"}, c.flags()...)...)
	require.Equal(t, result{stdout: document.String(), stderr: findings}, drawn)
	return got.stdout + got.stderr
}

// requireWaves requires that ordapply plan reads the plan's waves from a stamped
// stream.
func (c testCase) requireWaves(t *testing.T, plan *ordering.Plan, stamped []byte) {
	t.Helper()
	got := c.run(t, stamped, "ordapply", "plan", "--dry-run=client", "-o", "json", "-f", "-")
	require.Zero(t, got.code, got.stderr)
	var document struct {
		Steps []struct {
			Group, Kind, Namespace, Name string
			Wave                         int
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &document))
	waves := map[object.ID]int{}
	for _, s := range document.Steps {
		waves[object.ID{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}] = s.Wave
	}
	require.Equal(t, wavesOf(plan), waves)
}

// sorted returns the output of ordapply sort, which must be in the plan's order.
func (c testCase) sorted(t *testing.T, plan *ordering.Plan) string {
	t.Helper()
	got := c.run(t, nil, "ordapply", append([]string{"sort", "--marks"}, c.flags()...)...)
	require.Zero(t, got.code, got.stderr)
	requireTextOrder(t, plan, []byte(got.stdout))
	return got.stdout
}

// refused returns the error of an invalid order, which every command must report
// without any output.
func (c testCase) refused(t *testing.T, err error) string {
	t.Helper()
	for _, got := range []result{
		c.run(t, c.stream, "sortorder", "--order", "order.yaml"),
		c.run(t, nil, "ordapply", append([]string{"sort"}, c.flags()...)...),
		c.run(t, nil, "ordapply", append([]string{"plan", "--dry-run=client"}, c.flags()...)...),
	} {
		require.Equal(t, 1, got.code)
		require.Empty(t, got.stdout)
		for line := range strings.Lines(err.Error()) {
			require.Contains(t, got.stderr, line)
		}
	}
	return err.Error() + "\n"
}
