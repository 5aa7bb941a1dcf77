package unkind

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/standin"
	"github.com/ordapply/ordapply/test/testcluster"
)

// TestFirstTry applies each program to an empty cluster with the default flags, as its
// stream stands and in as many other orders as ORDAPPLY_SHUFFLES says (0). Writes of its
// controllers meanwhile are theirs: the next apply changes nothing.
func TestFirstTry(t *testing.T) {
	ordapply := needPrograms(t)
	eachProgram(t, func(t *testing.T, stream []byte) {
		for seed := range shuffles(t) + 1 {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				tried := firstTry(t, ordapply, shuffled(stream, seed), nil)
				if seed == 0 {
					require.NotContains(t, tried.run(t), "serverside-applied", "the second apply changes nothing")
				}
			})
		}
	})
}

// shuffles returns the number of other orders of each stream: ORDAPPLY_SHUFFLES, or none.
func shuffles(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ORDAPPLY_SHUFFLES")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// needPrograms returns the path of ordapply. The test is skipped where it or localcluster
// is missing.
func needPrograms(t *testing.T) string {
	t.Helper()
	ordapply, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	if _, err := testcluster.Find("localcluster"); err != nil {
		testcluster.Skip(t, "the localcluster command (run `make localcluster`)")
	}
	return ordapply
}

func eachProgram(t *testing.T, test func(t *testing.T, stream []byte)) {
	t.Helper()
	programs, err := Programs()
	require.NoError(t, err)
	for _, program := range programs {
		t.Run(program.Name, func(t *testing.T) { test(t, program.Stream) })
	}
}

// applied is a program that was applied.
type applied struct {
	command *exec.Cmd
	cluster *testcluster.Cluster
	took    time.Duration
	output  string
}

// firstTry applies a stream to an empty cluster, which must succeed. flags returns flags for
// the file of the stream; nil for the default flags.
func firstTry(t *testing.T, ordapply string, stream []byte, flags func(file string) []string) applied {
	t.Helper()
	cluster, pods, file := start(t, stream)
	args := []string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}
	if flags != nil {
		args = append(args, flags(file)...)
	}
	a := applied{command: exec.Command(ordapply, args...), cluster: cluster}
	start := time.Now()
	a.output = a.run(t)
	a.took = time.Since(start)
	t.Logf("%s, %d admission reviews", a.took.Round(100*time.Millisecond), pods.Calls())
	return a
}

// run runs the command once more.
func (a applied) run(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(a.command.Path, a.command.Args[1:]...).CombinedOutput()
	if err != nil {
		kept, _ := a.cluster.TryKubectl("get", "pods,jobs,events", "-A")
		require.NoError(t, err, "%s\n%s", out, kept)
	}
	return string(out)
}

// start starts an empty cluster and writes the stream to a file. The servers behind the
// Services of the stream are trusted by whom the CA bundle of the cluster was given.
func start(t *testing.T, stream []byte) (*testcluster.Cluster, *standin.Pods, string) {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "pods")
	pods, err := standin.Listen(socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pods.Close() })
	cluster := testcluster.Start(t, "--pod-proxy", socket)
	ca, err := Trust(cluster, pods)
	require.NoError(t, err)
	file := filepath.Join(dir, "stream.yaml")
	require.NoError(t, os.WriteFile(file, WithCA(stream, ca), 0o644))
	return cluster, pods, file
}

// shuffled returns the manifests of a stream in another order; 0 keeps theirs. The comment
// at the top stays there.
func shuffled(stream []byte, seed int) []byte {
	manifests := strings.Split(string(stream), "\n---\n")
	if seed > 0 {
		rest := manifests[1:]
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	return []byte(strings.Join(manifests, "\n---\n"))
}
