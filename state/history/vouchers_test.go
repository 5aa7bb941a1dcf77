package history

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// vouching returns a history with the vouchers of a parent that has listed its revisions from
// the first one on.
func vouching(h History) History {
	h.Vouchers = Vouchers{}
	h.Vouch = func(_ context.Context, _ int, next Vouchers) error {
		clear(h.Vouchers)
		maps.Copy(h.Vouchers, next)
		return nil
	}
	return h
}

// forge stores a revision by creating Secrets only.
func forge(t *testing.T, cluster *memcluster.Store, number int, status Status, r Revision) {
	t.Helper()
	data, err := r.encode()
	require.NoError(t, err)
	secrets, err := pack(shopSet, shopSet.Namespace, number, r.summary("sha256:x"), Record{}, data)
	require.NoError(t, err)
	for _, secret := range secrets {
		if secret.GetLabels()[StatusLabel] != "" {
			labels := secret.GetLabels()
			labels[StatusLabel] = string(status)
			secret.SetLabels(labels)
		}
		_, err := cluster.Create(t.Context(), kube.CoreKind("secrets"), secret)
		require.NoError(t, err)
	}
}

func edit(t *testing.T, cluster *memcluster.Store, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	live, err := cluster.Get(t.Context(), kube.CoreKind("secrets"), shopSet.Namespace, name)
	require.NoError(t, err)
	change(live)
	cluster.Drop("secrets/shop/" + name)
	cluster.Add(kube.CoreKind("secrets"), live)
}

// A revision that no run stored is reported, and nothing else: it is not listed, not read,
// not gone back to and not deleted, and its number does not matter.
func TestForgedRevisionsDoNotCount(t *testing.T) {
	cluster := memcluster.New()
	h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
	carriedOut(t, h, numbered(t, 1), Deployed)
	carriedOut(t, h, numbered(t, 2), Failed)
	forge(t, cluster, 3, Deployed, numbered(t, 7))
	forge(t, cluster, 999_999_999, Deployed, numbered(t, 8))
	require.Equal(t, []string{"1 deployed", "2 failed"}, statuses(t, h))
	_, err := h.Read(t.Context(), 3)
	require.ErrorContains(t, err, "has no revision 3; it has 1, 2")
	before, err := h.DeployedBefore(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 1, before.Number)
	stored, err := h.ReadIndex(t.Context())
	require.NoError(t, err)
	require.Len(t, stored.Unvouched(), 1)
	require.Contains(t, stored.Unvouched()[0], "Secret shop/ordapply.shop.v3, Secret shop/ordapply.shop.v999999999")
	require.Equal(t, 4, carriedOut(t, h, numbered(t, 4), Deployed), "the name of revision 3 is taken")
	notes, err := h.Drop(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	secrets, err := h.Records(t.Context())
	require.NoError(t, err)
	require.Len(t, secrets, 2, "what is forged stays")
}

// A number that no run reaches, and a Secret of another name that was labelled.
func TestSecretsThatAreNoRevisions(t *testing.T) {
	for _, vouchers := range []Vouchers{nil, {}} {
		cluster := memcluster.New()
		h := History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}, Vouchers: vouchers}
		forge(t, cluster, maxNumber+1, Deployed, numbered(t, 1))
		labelled := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		labelled.SetNamespace("shop")
		labelled.SetName("database")
		labelled.SetLabels(map[string]string{setLabel: h.Parent.SetID(), RevisionLabel: "1"})
		cluster.Add(kube.CoreKind("secrets"), labelled)
		require.Empty(t, statuses(t, h))
		_, err := h.Drop(t.Context(), nil)
		require.NoError(t, err)
		require.NotNil(t, cluster.At("secrets/shop/database"))
	}
}

// A revision whose content was changed, or that was deleted and made again, is not read.
func TestChangedRevisionsAreNotRead(t *testing.T) {
	cluster := memcluster.New()
	h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}})
	carriedOut(t, h, numbered(t, 1), Deployed)
	carriedOut(t, h, numbered(t, 2), Deployed)
	other := memcluster.New()
	forge(t, other, 2, Deployed, numbered(t, 7))
	edit(t, cluster, "ordapply.shop.v2", func(live *unstructured.Unstructured) {
		live.Object["data"] = other.At("secrets/shop/ordapply.shop.v2").Object["data"]
	})
	_, err := h.Read(t.Context(), 2)
	require.ErrorAs(t, err, new(*UnvouchedError))
	require.ErrorContains(t, err, "revision 2 of apply set shop/shop (Secret shop/ordapply.shop.v2) is not used: its content is not what a run of the set stored")
	edit(t, cluster, "ordapply.shop.v1", func(live *unstructured.Unstructured) { live.SetUID("another") })
	require.Equal(t, []string{"2 deployed"}, statuses(t, h))
}

// A parent that says nothing of revisions, as one of an older version: they are listed and
// shown, and neither gone back to nor is a hook of them run.
func TestRevisionsThatNothingVouchesFor(t *testing.T) {
	cluster := memcluster.New()
	h := History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}}
	carriedOut(t, vouching(h), numbered(t, 1), Deployed)
	require.Equal(t, []string{"1 deployed"}, statuses(t, h))
	shown, err := h.Show(t.Context(), 1)
	require.NoError(t, err)
	require.NotEmpty(t, shown.Resources)
	_, err = h.DeployedBefore(t.Context(), 0)
	require.ErrorAs(t, err, new(*UnvouchedError))
	require.ErrorContains(t, err, "accept them once with ordapply applyset trust shop")
	again := h
	again.Vouch = func(_ context.Context, n int, next Vouchers) error {
		require.Equal(t, 2, n)
		require.Len(t, next, 1, "what an older version stored is not vouched for by storing more")
		return nil
	}
	begin(t, again, numbered(t, 2))
	_, trusted, err := h.Untrusted(t.Context())
	require.NoError(t, err)
	h.Vouchers = trusted
	before, err := h.DeployedBefore(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, before.Number)
}
