package helmreferee

import (
	"debug/buildinfo"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// refereeVersion is the Helm version with which the sequences were recorded.
const refereeVersion = "v4.3.1"

// The sequences in testdata are Helm's. `make golden` updates them.
func TestRecordedFromHelm(t *testing.T) {
	helm := newTool(t, "helm")
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sequences := map[string]string{}
			takeSteps(t, helm, c, func(s step, done taken) {
				require.Equal(t, s.fails, done.failed, "%s\n%s", s.line, done.output)
				sequences[s.line] = done.sequence
			})
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				c.record(t, sequences)
				return
			}
			require.Equal(t, c.recorded, sequences)
		})
	}
}

// `helm template CHART | ordapply` creates and deletes in the sequence recorded
// from Helm, except for the intended differences.
func TestHooksRunAsHelmRunsThem(t *testing.T) {
	ordapply := newTool(t, "ordapply")
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var want, got, output strings.Builder
			takeSteps(t, ordapply, c, func(s step, done taken) {
				wanted, ours := outcome(c.recorded[s.line], s.fails), outcome(done.sequence, done.failed)
				if d, meant := differences[c.name+": "+s.line]; meant {
					meant := d.expected(c.recorded[s.line], s.fails)
					require.NotEqual(t, wanted, meant, "%s: Helm does the same: take it out of the differences", s.line)
					wanted = meant
				}
				want.WriteString(s.line + "\n" + wanted)
				got.WriteString(s.line + "\n" + ours)
				if ours != wanted {
					output.WriteString("\n# " + s.line + "\n" + done.output)
				}
			})
			require.Equal(t, want.String(), got.String(), output.String())
		})
	}
}

// outcome returns a sequence with its result.
func outcome(sequence string, failed bool) string {
	if failed {
		return sequence + "  fails\n"
	}
	return sequence
}

// Each difference refers to an existing step and has a reason.
func TestDifferences(t *testing.T) {
	known := map[string]bool{}
	for _, c := range readCases(t) {
		for _, s := range c.steps {
			known[c.name+": "+s.line] = true
		}
	}
	for at, d := range differences {
		require.True(t, known[at], "%s: no such step", at)
		require.NotEmpty(t, d.why, at)
	}
}

// takeSteps executes the steps of a case in order, in a namespace of their own.
func takeSteps(t *testing.T, u tool, c *refereeCase, each func(step, taken)) {
	t.Helper()
	u.cluster.Kubectl(t, "create", "namespace", c.name)
	roles := map[auditlog.Key]role{}
	output := ""
	for _, s := range c.steps {
		switch s.verb {
		case "kubectl":
			u.cluster.Kubectl(t, append(s.args, "--namespace", c.name)...)
		case "says":
			_, meant := differences[c.name+": "+s.line]
			says := strings.Contains(output, strings.Join(s.args, " "))
			require.Equal(t, u.name == "helm" || !meant, says, "%s\n%s", s.line, output)
		default:
			done := u.take(t, c, s, roles)
			output = done.output
			each(s, done)
		}
	}
}

// newTool finds the programs and starts a control plane. Without Helm the test
// is skipped; in CI it fails.
func newTool(t *testing.T, name string) tool {
	t.Helper()
	helm, err := testcluster.Find("helm-referee")
	if err != nil {
		testcluster.Skip(t, "the Helm to compare with (run `make helm-referee`)")
	}
	requireVersion(t, helm)
	u := tool{name: name, helm: helm, binary: helm, home: t.TempDir()}
	if name == "ordapply" {
		if u.binary, err = testcluster.Find("ordapply"); err != nil {
			testcluster.Skip(t, "the ordapply command (run `make build`)")
		}
	}
	u.cluster = testcluster.Start(t)
	return u
}

func requireVersion(t *testing.T, helm string) {
	t.Helper()
	info, err := buildinfo.ReadFile(helm)
	require.NoError(t, err)
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == "helm.sh/helm/v4" {
			require.Equal(t, refereeVersion, module.Version)
			return
		}
	}
	t.Fatalf("%s is no Helm 4", helm)
}
