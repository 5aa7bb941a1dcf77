package engines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// Both trees of a stream are in one artifact, which Flux reconciles, and after Flux has
// ended and its objects are deleted, Argo CD.
func TestOneArtifactForBothEngines(t *testing.T) {
	stream := inNamespace(layersStream, "both")
	plan := planOf(t, stream)
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	registry := StartRegistry(t)
	artifact := filepath.Join(t.TempDir(), "artifact")
	for engine, args := range map[string][]string{"flux": {"--source-insecure"}, "argocd": {"--form", "app-of-apps"}} {
		ordapply(t, stream, append([]string{"export", "--to", engine, "--name", "both", "--source", "oci://" + registry + "/both", "--path", "for-" + engine, "-o", filepath.Join(artifact, "for-"+engine)}, args...)...)
	}
	require.NoError(t, push(artifact, registry+"/both:latest"))

	t.Run("Flux", func(t *testing.T) {
		flux, from := StartFlux(t, cluster), logSize(t, cluster)
		tree := filepath.Join(artifact, "for-flux")
		flux.Apply(t, tree, "both")
		flux.UntilReady(t, "both", 3*time.Minute)
		requireKept(t, cluster, plan, from, flux.Agent())
		cluster.Kubectl(t, "delete", "-f", filepath.Join(tree, "flux", "kustomizations.yaml"), "--timeout=120s")
		cluster.Kubectl(t, "delete", "namespace", "both", "--timeout=120s")
	})
	t.Run("Argo CD", func(t *testing.T) {
		argocd, from := StartArgoCD(t, cluster), logSize(t, cluster)
		argocd.apply(t, strings.ReplaceAll(repository, "REGISTRY", registry))
		tree := filepath.Join(artifact, "for-argocd")
		argocd.Apply(t, tree, "both")
		layers, err := os.ReadDir(filepath.Join(tree, "layers"))
		require.NoError(t, err)
		argocd.UntilSynced(t, "both", len(layers)+1, 3*time.Minute)
		cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "both", "deployment/db")
		requireKept(t, cluster, plan, from, argocd.Agent())
	})
}

// repository lets Argo CD read the registry over plain HTTP.
const repository = `apiVersion: v1
kind: Secret
metadata: {name: both, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: oci, url: "oci://REGISTRY/both", insecureOCIForceHttp: "true"}
`
