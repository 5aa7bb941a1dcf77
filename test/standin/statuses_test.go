package standin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// A status that said one of several replicas would never be ready.
func TestAPrometheusHasAllItsReplicas(t *testing.T) {
	kinds := reportedKinds()
	at := slices.IndexFunc(kinds, func(k reportedKind) bool { return k.resource.Resource == "prometheuses" })
	require.GreaterOrEqual(t, at, 0)
	for _, spec := range []string{`{}`, `{"replicas": 2}`} {
		text := `{"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "k8s", "generation": 3}, "spec": ` + spec
		var bare, u unstructured.Unstructured
		require.NoError(t, bare.UnmarshalJSON([]byte(text+"}")))
		require.NoError(t, u.UnmarshalJSON([]byte(text+`, "status": `+kinds[at].statusOf(bare)+"}")))
		got := new(health.Assessor).Assess(&u)
		require.Equal(t, health.Ready, got.Verdict, "%s: %s", spec, got.Reason)
	}
}
