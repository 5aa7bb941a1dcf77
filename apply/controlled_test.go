package apply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/test/memcluster"
)

// controlled applies manifests to a cluster that stores them.
type controlled struct{ *memcluster.Controlled }

func newControlled() *controlled { return &controlled{memcluster.NewControlled()} }

func condition(kind, status string) map[string]any { return memcluster.Condition(kind, status) }

// shopNamespace is the Namespace of all objects in these tests: a stream that
// contains it sends no requests about it.
func shopNamespace() map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
}

// imaged changes the spec of a manifest.
func imaged(m map[string]any, image string) map[string]any {
	m["spec"].(map[string]any)["image"] = image
	return m
}

// mustRun applies manifests to the cluster and requires success.
func (c *controlled) mustRun(t *testing.T, a apply.Applier, manifests ...map[string]any) event.Summary {
	t.Helper()
	summary, err := c.run(t, a, manifests...)
	require.NoError(t, err)
	return summary
}

func (c *controlled) run(t *testing.T, a apply.Applier, manifests ...map[string]any) (event.Summary, error) {
	t.Helper()
	plan, stream := planOf(t, manifests...)
	a.Cluster = c.Controlled
	c.ResetRequests()
	return a.Run(t.Context(), plan, stream.Objects)
}
