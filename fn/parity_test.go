package fn_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
	"github.com/ordapply/ordapply/test/corpora"
)

// refusedByKustomize returns the corpora that kustomize rejects, and why.
func refusedByKustomize() map[string]string {
	return map[string]string{
		"argo-workflows":  "missing metadata.name in object",
		"knative-serving": "missing metadata.name in object",
	}
}

// TestParityOnCorpora compares the order without selectors with the output of
// `kustomize build` under sortOptions legacy, on real streams and shuffled.
func TestParityOnCorpora(t *testing.T) {
	for _, file := range realStreams(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			if reason, refused := refusedByKustomize()[name]; refused {
				_, err := legacyBuild(string(stream))
				require.ErrorContains(t, err, reason)
				return
			}
			want, err := legacyBuild(string(stream))
			require.NoError(t, err)
			requireOrdered(t, want, string(stream))
			requireOrdered(t, want, shuffled(t, stream)) // kustomize rejects duplicate IDs, so its order is unique
		})
	}
}

// TestParityOnTheHardCases uses a stream that a comparison by fields would sort
// differently.
func TestParityOnTheHardCases(t *testing.T) {
	var documents []string
	for _, id := range [][4]string{
		{"v1", "Namespace", "", "z"}, {"v1", "Namespace", "", "a"},
		{"servicebus.azure.com/v1", "Namespace", "a", "bus"}, {"servicebus.azure.com/v1", "Namespace", "", "bus"},
		{"project.openshift.io/v1", "Namespace", "", "p"}, {"zzz.example.com/v1", "Namespace", "", "z"},
		{"v1", "Secret", "a", "s"}, {"v1", "Secret", "a-b", "s"}, {"v1", "Secret", "", "s"}, {"v1", "Secret", "default", "t"},
		{"apps/v1", "Deployment", "a", "d"}, {"apps.kruise.io/v1", "Deployment", "a", "d"}, {"apps/v1beta1", "Deployment", "a", "e"},
		{"v1", "Pod", "a", "p"}, {"batch/v1", "Job", "a", "j"}, {"v1", "Service", "a", "s"},
		{"serving.knative.dev/v1", "Service", "a", "s"}, {"example.com/v1", "Zebra", "", "z"}, {"example.com/v2", "Ant", "", "a"},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "m"},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "v"},
		{"storage.k8s.io/v1", "StorageClass", "", "s"}, {"v1", "Node", "", "n"},
	} {
		document := "apiVersion: " + id[0] + "\nkind: " + id[1] + "\nmetadata:\n  name: " + id[3] + "\n"
		if id[2] != "" {
			document += "  namespace: " + id[2] + "\n"
		}
		documents = append(documents, document)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		requireParity(t, strings.Join(documents, "---\n"))
	}
}

func requireParity(t *testing.T, stream string) {
	want, err := legacyBuild(stream)
	require.NoError(t, err)
	requireOrdered(t, want, stream)
}

// requireOrdered requires the output of kustomize.
func requireOrdered(t *testing.T, want, stream string) {
	out := fn.Processor{Order: sortorder.Default()}.Run([]byte(stream))
	require.False(t, out.Findings.Failed(), out.Findings.Lines())
	require.Equal(t, idsOf(t, want), idsOf(t, string(out.Stream())))
}

// legacyBuild returns kustomize's own build of the stream.
func legacyBuild(stream string) (string, error) {
	disk := filesys.MakeFsInMemory()
	files := map[string]string{
		"/app/kustomization.yaml": "resources: [stream.yaml]\nsortOptions: {order: legacy}\n",
		"/app/stream.yaml":        stream,
	}
	for path, text := range files {
		if err := disk.WriteFile(path, []byte(text)); err != nil {
			return "", err
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions, options.Reorder = types.LoadRestrictionsNone, krusty.ReorderOptionUnspecified
	built, err := krusty.MakeKustomizer(options).Run(disk, "/app")
	if err != nil {
		return "", err
	}
	text, err := built.AsYaml()
	return string(text), err
}

// shuffled returns the stream with its documents shuffled and Lists split.
func shuffled(t *testing.T, stream []byte) string {
	documents := strings.Split(string(fn.Strip(stream).Stream()), "\n---\n")
	require.Greater(t, len(documents), 1)
	random := rand.New(rand.NewPCG(7, 8))
	random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	return strings.Join(documents, "\n---\n")
}

func idsOf(t *testing.T, stream string) []string {
	nodes, err := kio.FromBytes([]byte(stream))
	require.NoError(t, err)
	var out []string
	for _, node := range nodes {
		out = append(out, node.GetApiVersion()+"|"+node.GetKind()+"|"+node.GetNamespace()+"|"+node.GetName())
	}
	return out
}

// realStreams returns the files of the real streams, which are not part of the repository.
func realStreams(t testing.TB) []string {
	if testing.Short() {
		t.Skip("left out with -short: real streams")
	}
	files, err := filepath.Glob(filepath.Join(corpora.Need(t), "*.yaml"))
	require.NoError(t, err)
	return files
}
