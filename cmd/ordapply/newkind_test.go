package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Custom resources of a kind that is new are deleted as fast as kubectl deletes them, and after
// their dependents: no garbage collector, which this control plane does not run, is needed for
// that.
func TestDependentsOfANewKind(t *testing.T) {
	cluster := testcluster.Start(t, "--light")
	stream := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.young.example}
spec:
  group: young.example
  scope: Namespaced
  names: {kind: Gear, plural: gears}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: young.example/v1
kind: Gear
metadata: {name: whole, namespace: default}
`
	code, output := applyThrough(cluster.Kubeconfig, []byte(stream))
	require.Equal(t, report.ExitDone, code, output)
	dependent := func(name, of, more string) {
		uid := strings.TrimSpace(cluster.Kubectl(t, "get", "gears.young.example", of, "-n", "default", "-o", "jsonpath={.metadata.uid}"))
		kubectlApply(t, cluster, fmt.Sprintf(`apiVersion: young.example/v1
kind: Gear
metadata:
  name: %s
  namespace: default
  %s
  ownerReferences: [{apiVersion: young.example/v1, kind: Gear, name: %s, uid: %s, blockOwnerDeletion: true}]
`, name, more, of, uid))
	}
	dependent("part", "whole", "finalizers: [young.example/hold]")
	dependent("deep", "part", "")
	proxy := recorder.Start(t, cluster.Kubeconfig)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code, _, output = deleteThrough(proxy.Kubeconfig, []byte(stream), "--yes")
	}()
	require.Eventually(t, func() bool {
		return cluster.Kubectl(t, "get", "gears.young.example", "part", "-n", "default", "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, cluster.Kubectl(t, "get", "gears.young.example", "whole", "-n", "default", "-o", "jsonpath={.metadata.finalizers}"), "foregroundDeletion", "it is gone last")
	cluster.Kubectl(t, "patch", "gears.young.example", "part", "-n", "default", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	<-ended
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "waiting until it and its dependents are gone")
	require.Contains(t, output, "2 deleted, in ")
	var deleted []string
	for _, r := range proxy.Requests() {
		if r.Verb == "delete" {
			deleted = append(deleted, r.Name)
		}
	}
	require.ElementsMatch(t, []string{"part", "deep"}, deleted[1:3])
	require.Equal(t, []string{"whole", "whole", "gears.young.example"}, slices.Delete(deleted, 1, 3), "marked, and let go when its dependents are gone")
}
