package unkind

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestInit applies each program with the order that init writes for its stream. The order
// may add no gate that the program cannot open: the apply succeeds, as without the order.
//
// The streams are applied as they stand, and with a label on each object that holds its
// name. Charts label the objects of a component alike; with such labels, init makes a layer
// of each component, which is the most gates that it can add. With ORDAPPLY_SHUFFLES, all
// programs are applied so, and both streams in that many other orders; without, a sample as it
// stands.
func TestInit(t *testing.T) {
	ordapply := needPrograms(t)
	eachProgram(t, func(t *testing.T, stream []byte) {
		if sample := []string{"cert-manager", "cloudnative-pg", "vault"}; os.Getenv("ORDAPPLY_SHUFFLES") == "" && !slices.Contains(sample, filepath.Base(t.Name())) {
			t.Skip("set ORDAPPLY_SHUFFLES=0 to apply all programs")
		}
		for name, stream := range map[string][]byte{"bare": stream, "labelled": labelled(t, stream)} {
			for seed := range shuffles(t) + 1 {
				t.Run(name+" "+strconv.Itoa(seed), func(t *testing.T) {
					t.Parallel()
					firstTry(t, ordapply, shuffled(stream, seed), func(file string) []string {
						return []string{"--order", initOrder(t, ordapply, file)}
					})
				})
			}
		}
	})
}

// initOrder writes the order that init proposes for a stream, and returns its file.
func initOrder(t *testing.T, ordapply, stream string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "order.yaml")
	out, err := exec.Command(ordapply, "init", "-f", stream, "-o", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	t.Log(string(text))
	return file
}

// labelled returns a stream in which each object has a label with its name.
func labelled(t *testing.T, stream []byte) []byte {
	t.Helper()
	manifests := strings.Split(string(stream), "\n---\n")
	for i, text := range manifests {
		var manifest map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &manifest))
		metadata, ok := manifest["metadata"].(map[string]any)
		if !ok {
			continue // the comment at the top
		}
		labels, _ := metadata["labels"].(map[string]any)
		if labels == nil {
			labels = map[string]any{}
		}
		name, _ := metadata["name"].(string)
		labels["app.kubernetes.io/component"] = strings.ReplaceAll(name, ":", "-")
		metadata["labels"] = labels
		out, err := yaml.Marshal(manifest)
		require.NoError(t, err)
		manifests[i] = string(out)
	}
	return []byte(strings.Join(manifests, "\n---\n"))
}
