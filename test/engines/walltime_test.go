package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// wallTimes are the lines of the table that is printed at the end.
var wallTimes []string

func TestMain(m *testing.M) {
	code := m.Run()
	if len(wallTimes) > 0 {
		fmt.Println("From the first write to the last resource that became ready, each on an empty cluster of the same settings:")
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "stream\tordapply\tFlux\tArgo CD")
		for _, line := range wallTimes {
			fmt.Fprintln(w, line)
		}
		_ = w.Flush()
	}
	os.Exit(code)
}

// The same streams by each engine, one after the other. Nothing has a limit.
func TestWallTime(t *testing.T) {
	long(t)
	for _, name := range []string{"examples/shop", "jobset", "cert-manager"} {
		t.Run(name, func(t *testing.T) {
			var stream []byte
			var args []string
			if name == "examples/shop" {
				stream = shop(t)
			} else {
				stream, args = corpus(t, name)
			}
			line := []string{name}
			for _, engine := range []string{"ordapply", "Flux", "Argo CD"} {
				cell := "-" // if it fails, or is left out
				t.Run(engine, func(t *testing.T) {
					cluster := withOperators(t)
					took := map[string]func() time.Duration{
						"ordapply": func() time.Duration { return runOrdapply(t, cluster, stream, args...) },
						"Flux": func() time.Duration {
							return runFlux(t, cluster, StartFlux(t, cluster), filepath.Base(name), stream, args...)
						},
						"Argo CD": func() time.Duration {
							return runArgoCD(t, cluster, StartArgoCD(t, cluster), "application", filepath.Base(name), stream, args...)
						},
					}[engine]()
					cell = took.Round(100 * time.Millisecond).String()
				})
				line = append(line, cell)
			}
			wallTimes = append(wallTimes, strings.Join(line, "\t"))
		})
	}
}

// runOrdapply applies a stream with ordapply, and proves its order.
func runOrdapply(t *testing.T, cluster *testcluster.Cluster, stream []byte, args ...string) time.Duration {
	t.Helper()
	program, err := testcluster.Find("ordapply")
	require.NoError(t, err)
	plan, from := planOf(t, stream, args...), logSize(t, cluster)
	cmd := exec.Command(program, append([]string{"apply", "-f", "-", "--kubeconfig", cluster.Kubeconfig}, append(args, healthRules(t)...)...)...)
	cmd.Stdin = strings.NewReader(string(stream))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return requireKept(t, cluster, plan, from, "ordapply")
}
