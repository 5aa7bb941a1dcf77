package history

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Who stored a revision, from what and why is in its metadata, bounded. The account is
// asked for only when a revision is stored.
func TestOriginIsStored(t *testing.T) {
	asked := 0
	cluster := &created{}
	h := History{Cluster: cluster, Parent: applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}, User: func(context.Context) string {
		asked++
		return "alice"
	}}
	r := revisionOf(t, resources(t, stream), ordering.Options{})
	r.Origin = Origin{Commit: "0123456", Message: "  " + strings.Repeat("é", MaxMessage)}
	_, err := h.Begin(t.Context(), r)
	require.NoError(t, err)
	entries, err := h.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, Origin{"alice", "0123456", strings.Repeat("é", MaxMessage/2)}, entries[0].Origin)
	_, err = h.Begin(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 1, asked, "the same again is no revision")

	r.Rollback = 4
	secrets, err := pack(h.Parent.ID, "shop", 5, r.summary("other"), nil)
	require.NoError(t, err)
	back, err := readEntry(secrets[0])
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(back.Message, "rollback to revision 4: "), back.Message)
}

// A cut text is still text.
func TestBounded(t *testing.T) {
	require.Equal(t, "a", bounded(" aé ", 2))
	require.Equal(t, "aé", bounded(" aé ", 3))
	require.Equal(t, Origin{Message: "rollback to revision 2"}, Origin{}.ofRollback(2))
	require.Equal(t, Origin{}, Origin{}.ofRollback(0))
}

// created is a cluster that holds what was created.
type created struct {
	Cluster
	secrets []*unstructured.Unstructured
}

func (c *created) List(context.Context, kube.Kind, string, kube.Query) ([]*unstructured.Unstructured, error) {
	return c.secrets, nil
}

func (c *created) Create(_ context.Context, _ kube.Kind, secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.secrets = append(c.secrets, secret)
	return secret, nil
}

func (c *created) Apply(_ context.Context, _ kube.Kind, patch *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	for _, secret := range c.secrets {
		if secret.GetName() == patch.GetName() {
			labels := secret.GetLabels()
			labels[StatusLabel] = patch.GetLabels()[StatusLabel]
			secret.SetLabels(labels)
		}
	}
	return patch, nil
}
