package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// deleteAnsweredByAProxy: a 404 without a Status, from a proxy, does not prove
// that an object is gone: the object is read, it remains a member, and the next
// run deletes it.
func deleteAnsweredByAProxy(t *testing.T, cluster *testcluster.Cluster) {
	const namespace = "bare404"
	cluster.Kubectl(t, "create", "namespace", namespace)
	stream := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stays}\n"
	flags := []string{"-n", namespace, "--applyset", "s", "--prune"}
	code, output := applyThrough(cluster.Kubeconfig, []byte(stream+"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: goes}\n"), flags...)
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	proxy.Inject(recorder.Always(recorder.Verb("delete", "serviceaccounts"), recorder.NotServed))
	code, output = applyThrough(proxy.Kubeconfig, []byte(stream), flags...)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "delete ServiceAccount bare404/goes: the API server returned a bare 404")
	require.Contains(t, output, "check for a proxy between you and the API server")
	require.Equal(t, "ConfigMap,ServiceAccount", cluster.Kubectl(t, "get", "secret", "s", "-n", namespace, "-o", `jsonpath={.metadata.annotations.applyset\.kubernetes\.io/contains-group-kinds}`))
	code, output = applyThrough(cluster.Kubeconfig, []byte(stream), flags...)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "ServiceAccount bare404/goes  deleted")
}
