package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Only a Pod of an older revision that its StatefulSet is to update, and does not, is
// explained.
func TestOldRevision(t *testing.T) {
	const stuck = "it is of the revision before (db-1, the newest is db-2), and the StatefulSet replaces no Pod before it is ready; delete the Pod: kubectl delete pod db-1 -n shop"
	for spec, want := range map[string]string{
		`{}`: stuck,
		`{podManagementPolicy: OrderedReady, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}`: stuck,
		`{updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}`:                                    "", // it is to stay as it is
		`{podManagementPolicy: Parallel}`:                                   "", // it is replaced
		`{podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}}`: "it is of the revision before (db-1, the newest is db-2), and updateStrategy OnDelete replaces it only when it is deleted; delete the Pod: kubectl delete pod db-1 -n shop",
	} {
		set := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, generation: 2}, status: {observedGeneration: 2, updateRevision: db-2}, spec: " + spec + "}"))
		require.NoError(t, err)
		require.NoError(t, set.UnmarshalJSON(data))
		require.Equal(t, want, OldRevision(set, "db-1", "db-1"), spec)
		require.Empty(t, OldRevision(set, "db-1", "db-2"), spec)
		require.Empty(t, OldRevision(set, "db-1", ""), spec)
		set.SetGeneration(3)
		require.Empty(t, OldRevision(set, "db-1", "db-1"), "the controller has not seen the spec: %s", spec)
	}
}
