package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/test/testcluster"
)

// The parent of a set with thousands of members is as small as that of a set of
// three, and no Secret of its revisions comes near the size limit of objects;
// and the set can be pruned to a few members.
func TestThousandsOfMembers(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "thousands")
	file := filepath.Join(t.TempDir(), "app.yaml")
	apply := func(n int) {
		require.NoError(t, os.WriteFile(file, []byte(configMapStream("thousands", n)), 0o600))
		output, err := exec.Command(bin, "apply", "-f", file, "--applyset", "many", "-n", "thousands", "--prune", "--kubeconfig", cluster.Kubeconfig).CombinedOutput()
		require.NoError(t, err, string(output))
	}
	apply(3000)
	require.Len(t, members(t, cluster), 3000)
	for _, secret := range list(t, cluster, "secrets") {
		text, err := secret.MarshalJSON()
		require.NoError(t, err)
		require.Less(t, len(text), 1<<20, secret.GetName())
	}
	parent := cluster.Kubectl(t, "get", "secret", "many", "-n", "thousands", "-o", "jsonpath={.metadata.annotations}")
	require.Less(t, len(parent), 400, parent)
	apply(3)
	require.Len(t, members(t, cluster), 3)
}

func members(t *testing.T, cluster *testcluster.Cluster) []unstructured.Unstructured {
	return list(t, cluster, "configmaps", "-l", "applyset.kubernetes.io/part-of")
}

func list(t *testing.T, cluster *testcluster.Cluster, args ...string) []unstructured.Unstructured {
	t.Helper()
	text := cluster.Kubectl(t, append([]string{"get", "-n", "thousands", "-o", "json"}, args...)...)
	var found unstructured.UnstructuredList
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	return found.Items
}
