package state

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// listing is a cluster that records the NotOlderThan of each LIST of Secrets.
type listing struct {
	kube.Cluster
	asked *[]string
}

func (c listing) List(ctx context.Context, kind kube.Kind, namespace string, q kube.Query) ([]*unstructured.Unstructured, error) {
	if kind == kube.CoreKind("secrets") {
		*c.asked = append(*c.asked, q.NotOlderThan)
	}
	return c.Cluster.List(ctx, kind, namespace, q)
}

func (c listing) Fenced(f kube.Fence) kube.Cluster { return listing{c.Cluster.Fenced(f), c.asked} }

// A deletion reads the latest history under its lock, and need not wait for a newer one as it ends.
func TestADeletionEndsWithTheHistoryOfItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/app"))
		var asked []string
		d := deletionOf(cluster)
		d.Cluster = listing{cluster, &asked}
		_, err := d.Do(t.Context())
		require.NoError(t, err)
		require.Empty(t, cluster.Members())
		last := len(asked) - 1
		require.NotEmpty(t, asked[last])
		require.NotContains(t, asked[:last], asked[last], "those before are the latest")
	})
}
