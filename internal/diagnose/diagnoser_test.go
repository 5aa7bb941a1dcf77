package diagnose

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// empty is a cluster without objects.
type empty struct {
	kube.Cluster
	asked []string
}

func (c *empty) List(_ context.Context, kind kube.Kind, _ string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	c.asked = append(c.asked, kind.Resource.Resource)
	return nil, nil
}

// An object's events are read once, and nothing is read when no request is
// left.
func TestInquiryKeepsToItsRequests(t *testing.T) {
	daemon := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{"name": "agent", "namespace": "shop", "uid": "d1"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "agent"}}},
		"status":   map[string]any{"desiredNumberScheduled": int64(2)},
	}}
	for left, asked := range [][]string{nil, {"pods"}, {"pods", "events"}, {"pods", "events"}} {
		cluster := &empty{}
		q := &Diagnoser{Cluster: cluster, Now: time.Now(), RequestsLeft: left, EventsRead: map[types.UID]bool{}, KnownSecrets: map[object.ID]bool{}}
		q.Diagnose(t.Context(), daemon, nil)
		require.Equal(t, asked, cluster.asked)
	}
	// Without a selector all Pods of the namespace would be listed.
	unstructured.RemoveNestedField(daemon.Object, "spec", "selector")
	cluster := &empty{}
	q := &Diagnoser{Cluster: cluster, Now: time.Now(), RequestsLeft: MaxRequests, EventsRead: map[types.UID]bool{}, KnownSecrets: map[object.ID]bool{}}
	q.Diagnose(t.Context(), daemon, nil)
	require.NotContains(t, cluster.asked, "pods")
}
