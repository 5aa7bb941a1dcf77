package diagnose

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// emptyCluster returns a cluster without objects, which calls list for each LIST.
func emptyCluster(list func(resource string)) *memcluster.Store {
	cluster := memcluster.New()
	cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
		if verb == "list" {
			list(kind.Resource.Resource)
		}
		return nil
	}
	return cluster
}

// An object's events are read once, and nothing is read when no request is
// left.
func TestDiagnosisKeepsToItsRequestBudget(t *testing.T) {
	daemon := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{"name": "agent", "namespace": "shop", "uid": "d1"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "agent"}}},
		"status":   map[string]any{"desiredNumberScheduled": int64(2)},
	}}
	for left, expected := range [][]string{nil, {"pods"}, {"pods", "events"}, {"pods", "events"}} {
		var listed []string
		cluster := emptyCluster(func(resource string) { listed = append(listed, resource) })
		q := &Diagnoser{Cluster: cluster, Now: time.Now(), RequestsLeft: left, EventsRead: map[types.UID]bool{}, KnownSecrets: map[object.ID]bool{}}
		q.Diagnose(t.Context(), kube.Meta(daemon).ID, daemon, nil)
		require.Equal(t, expected, listed)
	}
	// Without a selector all Pods of the namespace would be listed.
	unstructured.RemoveNestedField(daemon.Object, "spec", "selector")
	var listed []string
	cluster := emptyCluster(func(resource string) { listed = append(listed, resource) })
	q := &Diagnoser{Cluster: cluster, Now: time.Now(), RequestsLeft: MaxRequests, EventsRead: map[types.UID]bool{}, KnownSecrets: map[object.ID]bool{}}
	q.Diagnose(t.Context(), kube.Meta(daemon).ID, daemon, nil)
	require.NotContains(t, listed, "pods")
}
