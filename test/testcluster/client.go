package testcluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/kube"
)

// Client returns a client of the control plane, with all rights.
func (c *Cluster) Client(t testing.TB) *kube.Kubernetes {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	require.NoError(t, err)
	client, err := kube.Connect(config)
	require.NoError(t, err)
	return client
}
