package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// A run that changes nothing knows from its first lists that nothing has to be pruned, and lists
// again only kinds of the set that it did not list as a whole. A member that left the stream is
// pruned by a run that changes nothing else, in the same namespace and kind or in others.
func TestAPruneListsWhatTheRunHasNotSeen(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "prune-unchanged"
	cluster.Kubectl(t, "create", "namespace", namespace)
	cluster.Kubectl(t, "create", "namespace", namespace+"-2")
	object := func(kind, name, namespace string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: %s, labels: {test: prune-unchanged}}\n", kind, name, namespace)
	}
	stream := object("ConfigMap", "a", namespace) + object("ConfigMap", "b", namespace) + object("Secret", "a", namespace) + object("Secret", "b", namespace)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	apply := func(stream string) (lists map[string]int) {
		proxy.Reset()
		code, output := applyThrough(proxy.Kubeconfig, []byte(stream), "--applyset", "app", "-n", namespace, "--prune")
		require.Equal(t, report.ExitDone, code, output)
		lists = map[string]int{}
		for _, r := range proxy.Requests() {
			if r.Verb == "list" && !strings.Contains(r.URL.Query().Get("labelSelector"), "ordapply.dev/applyset") { // that is the history
				lists[r.Resource]++
			}
		}
		return lists
	}
	apply(stream)
	require.Equal(t, map[string]int{"configmaps": 1, "secrets": 1}, apply(stream))

	for _, gone := range []string{
		object("ConfigMap", "c", namespace), object("Service", "s", namespace) + "spec: {ports: [{port: 80}]}\n", object("ConfigMap", "c", namespace+"-2"),
	} {
		apply(stream + gone)
		members := func() string {
			return cluster.Kubectl(t, "get", "configmaps,secrets,services", "-A", "-l", "test=prune-unchanged", "-o", "name")
		}
		require.Equal(t, 5, strings.Count(members(), "\n"), members())
		apply(stream)
		require.Equal(t, 4, strings.Count(members(), "\n"), members())
		require.Equal(t, map[string]int{"configmaps": 1, "secrets": 1}, apply(stream), "the set is narrow again")
	}
}
