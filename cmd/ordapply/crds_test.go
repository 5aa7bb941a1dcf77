package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Discovery is read when the run starts, and then once for a batch of CRDs:
// only the group-versions that they define.
func TestDiscoveryIsReadOncePerBatchOfCRDs(t *testing.T) {
	cluster := testcluster.Start(t, "--light") // its own: each deletion of a Namespace would list its 30 kinds
	proxy := recorder.Start(t, cluster.Kubeconfig)
	stream := manyCRDs(30, "a.batch.example", "b.batch.example")
	code, output := applyThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	later := discoveries(proxy.Requests())
	t.Logf("discovery after the first PATCH: %v", later)
	for path := range later {
		require.Contains(t, []string{"/apis/a.batch.example/v1", "/apis/b.batch.example/v1"}, path)
	}
	require.Len(t, later, 2)
	total := 0
	for _, n := range later {
		total += n
	}
	require.Less(t, total, 15, "not once a CRD, of which there are 30")

	// k8sconnect ADR-007, case 1: if the CRDs exist, discovery is not read
	// again.
	proxy.Reset()
	code, output = applyThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	require.Empty(t, discoveries(proxy.Requests()))
}

// A stream without CRDs waits for none and watches none (KEP-0005,
// short-circuit).
func TestNoCRDRequestsWithoutCRDs(t *testing.T) {
	proxy := recorder.Start(t, shared.Get(t).Kubeconfig)
	code, output := applyThrough(proxy.Kubeconfig, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: without-crds, namespace: default}}\n"))
	require.Equal(t, report.ExitDone, code, output)
	require.Equal(t, 1, patches(proxy.Requests()))
	require.Empty(t, discoveries(proxy.Requests()))
	for _, r := range proxy.Requests() {
		require.NotEqual(t, "customresourcedefinitions", r.Resource, "%s %s", r.Verb, r.URL)
	}
}

// discoveries counts the requests to discovery after the first PATCH, by path.
func discoveries(requests []recorder.Request) map[string]int {
	counts, started := map[string]int{}, false
	for _, r := range requests {
		started = started || r.Verb == "patch"
		if started && r.Verb == "discovery" {
			counts[r.URL.Path]++
		}
	}
	return counts
}

// manyCRDs returns n CRDs in some groups with a custom resource of each.
func manyCRDs(n int, groups ...string) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `apiVersion: GROUP/v1
kind: Thing%[1]d
metadata: {name: one, namespace: default}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: thing%[1]ds.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: thing%[1]ds, singular: thing%[1]d}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
`, i)
		text := strings.ReplaceAll(b.String(), "GROUP", groups[i%len(groups)])
		b.Reset()
		b.WriteString(text)
	}
	return b.Bytes()
}

// An APIService whose backend is down affects only resources of its kinds.
func TestBrokenAPIService(t *testing.T) {
	cluster := testcluster.Start(t, "--light") // its own, since such an APIService blocks the deletion of namespaces
	broken := `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example}
spec:
  group: broken.example
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: nobody, namespace: default}
`
	code, output := applyThrough(cluster.Kubeconfig, []byte(strings.Replace(broken, "metadata: {", "metadata: {annotations: {ordapply.dev/wait: applied}, ", 1)))
	require.Equal(t, report.ExitDone, code, output)
	// The API server notices its backend at its own pace.
	require.Eventually(t, func() bool {
		code, output = applyThrough(cluster.Kubeconfig, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: free, namespace: default}\n"))
		require.Equal(t, report.ExitDone, code, output)
		return strings.Contains(output, "note: the backend of broken.example/v1 does not answer (kubectl describe apiservice v1.broken.example); no resource of this stream needs it\n")
	}, 3*time.Minute, 200*time.Millisecond)

	code, output = applyThrough(cluster.Kubeconfig, []byte("apiVersion: broken.example/v1\nkind: Thing\nmetadata: {name: bound, namespace: default}\n"), "--kind-timeout", "1s")
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "1 resource of this stream will wait for it\n")
	require.Contains(t, output, "error: wave 1/1: apply Thing.broken.example default/bound: the backend of broken.example/v1 does not answer even after 1s (--kind-timeout): ")
	require.Contains(t, output, "; check its APIService (kubectl describe apiservice v1.broken.example)")
}
