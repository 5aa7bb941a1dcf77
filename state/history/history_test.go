package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Each case has a history in its own namespace, on a real control plane.
func TestHistory(t *testing.T) {
	cluster := testcluster.Start(t)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	client, err := kube.Connect(config)
	require.NoError(t, err)
	cluster.Kubectl(t, "create", "namespace", "shop") // keeps the values of the stream's Secret
	for name, test := range map[string]func(*testing.T, History){
		"revisions": testRevisions, "same-content": testSameContent, "limit": testLimit,
		"killed": testKilled, "latest": testLatest, "large": testLarge, "deleted": testDeleted, "previous": testPrevious, "damaged": testDamaged, "newest": testNewest,
	} {
		t.Run(name, func(t *testing.T) {
			namespace := "history-" + name
			cluster.Kubectl(t, "create", "namespace", namespace)
			test(t, vouching(History{Cluster: client, Parent: applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: namespace, Name: "shop"}}}))
		})
	}
	t.Run("cluster", func(t *testing.T) {
		id, err := kube.ClusterID(t.Context(), client)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(cluster.Kubectl(t, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")), id)
	})
}

// The newest revision of each set has the highest number, whatever the order of the
// names of its Secrets.
func testNewest(t *testing.T, h History) {
	other := h
	other.Parent.ID.Name = "other"
	h.Limit = 20
	for n := range 11 {
		carriedOut(t, h, numbered(t, n), Deployed)
	}
	carriedOut(t, other, numbered(t, 1), Failed)
	newest, err := NewestOfAll(t.Context(), h.Cluster, h.Parent.ID.Namespace)
	require.NoError(t, err)
	require.Len(t, newest, 2)
	require.Equal(t, 11, newest[h.Parent.SetID()].Number)
	require.Equal(t, Deployed, newest[h.Parent.SetID()].Status)
	require.Equal(t, Failed, newest[other.Parent.SetID()].Status)
}

// numbered returns a revision with unique content.
func numbered(t *testing.T, n int) Revision {
	return revisionOf(t, resources(t, strings.ReplaceAll(stream, "a<b>", fmt.Sprint("a<b>", n))), ordering.Options{})
}

func begin(t *testing.T, h History, r Revision) int {
	t.Helper()
	n, err := h.Begin(t.Context(), r)
	require.NoError(t, err)
	return n
}

// carriedOut begins a revision and ends it.
func carriedOut(t *testing.T, h History, r Revision, status Status) int {
	t.Helper()
	n := begin(t, h, r)
	require.NoError(t, h.End(t.Context(), n, Outcome{Status: status, Stream: r}))
	return n
}

// statuses lists all revisions, as "1 superseded".
func statuses(t *testing.T, h History) []string {
	t.Helper()
	entries, err := h.List(t.Context())
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Number, " ", e.Status))
	}
	return out
}

func testRevisions(t *testing.T, h History) {
	last, err := h.Last(t.Context())
	require.NoError(t, err)
	require.Nil(t, last)
	_, err = h.Read(t.Context(), 1)
	require.EqualError(t, err, "apply set history-revisions/shop has no revisions")

	first := numbered(t, 1)
	require.Equal(t, 1, begin(t, h, first))
	require.Equal(t, []string{"1 pending"}, statuses(t, h))
	require.NoError(t, h.End(t.Context(), 1, Outcome{Status: Deployed}))
	require.Equal(t, 2, carriedOut(t, h, numbered(t, 2), Failed))
	require.Equal(t, []string{"1 deployed", "2 failed"}, statuses(t, h))
	require.Equal(t, 3, carriedOut(t, h, numbered(t, 3), Deployed))
	require.Equal(t, []string{"1 superseded", "2 failed", "3 deployed"}, statuses(t, h))

	read, err := h.Read(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, first.Plan, read.Plan)
	require.Equal(t, Superseded, read.Status)
	require.Equal(t, "revision 1", read.Resources[0].Source)
	last, err = h.Last(t.Context(), Failed, Superseded)
	require.NoError(t, err)
	require.Equal(t, 2, last.Number)
	_, err = h.Read(t.Context(), 7)
	require.EqualError(t, err, "apply set history-revisions/shop has no revision 7; it has 1, 2, 3")

	entries, err := h.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, entries[0].Resources)
	require.Equal(t, 2, entries[0].Layers, "data and web")
	require.False(t, entries[0].Created.IsZero())

	_, err = h.Drop(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, statuses(t, h))
}

// The same content writes nothing, whatever its outcome; a deployed revision
// stays deployed.
func testSameContent(t *testing.T, h History) {
	require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Failed))
	require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Deployed))
	secrets, err := h.Records(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Failed))
	require.Equal(t, 1, carriedOut(t, h, numbered(t, 1), Deployed))
	again, err := h.Records(t.Context())
	require.NoError(t, err)
	require.Equal(t, secrets[0].GetResourceVersion(), again[0].GetResourceVersion())
	require.Equal(t, []string{"1 deployed"}, statuses(t, h))
	require.Equal(t, 2, carriedOut(t, h, numbered(t, 2), Deployed))
	require.Equal(t, 3, carriedOut(t, h, numbered(t, 1), Deployed), "what was before the last is new again")
	elsewhere := numbered(t, 1)
	elsewhere.Cluster = ""
	require.Equal(t, 3, carriedOut(t, h, elsewhere, Deployed), "who does not know the cluster makes no revision")
	elsewhere.Cluster = "another"
	require.Equal(t, 4, carriedOut(t, h, elsewhere, Deployed), "what came with a backup is not of this cluster")
}

// A rollback without a number goes back to the same revision until it
// succeeds; after that, another one goes forth again.
func testPrevious(t *testing.T, h History) {
	h.Limit = 2
	expect := func(number int, resumed bool, content Revision) {
		t.Helper()
		p, err := h.RollbackTarget(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{number, resumed}, []any{p.Number, p.Resumed})
		if p.To.Number != 0 { // it was not trimmed
			require.Equal(t, number, p.To.Number)
		}
		r, err := h.ReadRollbackTarget(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, number, r.Number)
		require.Equal(t, digestOf(t, content), digestOf(t, *r))
	}
	first, second := numbered(t, 1), numbered(t, 2)
	carriedOut(t, h, first, Deployed)
	_, err := h.RollbackTarget(t.Context())
	require.EqualError(t, err, "nothing to roll back to: no revision before the latest was deployed")
	carriedOut(t, h, second, Deployed)
	expect(1, false, first)

	back := first
	back.Rollback = 1
	require.Equal(t, 3, begin(t, h, back)) // and is killed
	expect(1, true, first)
	require.Equal(t, 3, carriedOut(t, h, back, Failed), "resumed, it is not another revision")
	require.Equal(t, []string{"2 deployed", "3 failed"}, statuses(t, h))
	expect(1, true, first)
	require.Equal(t, 4, begin(t, h, first), "the same from a stream is no rollback")
	expect(2, false, second)
	require.Equal(t, 5, carriedOut(t, h, back, Deployed))
	h.Limit = 10
	again := numbered(t, 3)
	carriedOut(t, h, again, Deployed)
	expect(5, false, first)

	carriedOut(t, h, numbered(t, 4), Failed)
	expect(6, false, again)
	back = again
	back.Rollback = 6
	require.Equal(t, 8, carriedOut(t, h, back, Deployed))
	expect(5, false, first)
}

// The last deployed revision is kept, however many have failed since.
func testLimit(t *testing.T, h History) {
	h.Limit = 2
	carriedOut(t, h, numbered(t, 1), Deployed)
	carriedOut(t, h, numbered(t, 2), Deployed)
	for n := 3; n < 6; n++ {
		carriedOut(t, h, numbered(t, n), Failed)
	}
	require.Equal(t, []string{"2 deployed", "4 failed", "5 failed"}, statuses(t, h))
	carriedOut(t, h, numbered(t, 6), Deployed)
	require.Equal(t, []string{"5 failed", "6 deployed"}, statuses(t, h))
}

// killed is the connection of a writer that is killed after some Secrets, to a cluster in
// memory or to a real one.
type killed struct {
	Cluster
	left int
}

var errKilled = errors.New("killed")

func (k *killed) Create(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if k.left--; k.left < 0 {
		return nil, errKilled
	}
	return k.Cluster.Create(ctx, kind, obj)
}

// A writer that is killed between two chunks leaves no revision; the next one
// removes its chunks, and marks pending revisions as failed.
func testKilled(t *testing.T, h History) {
	carriedOut(t, h, numbered(t, 1), Deployed)
	begin(t, h, numbered(t, 2))
	large := revisionOf(t, incompressible(t, 4*chunkSize), ordering.Options{})
	alive := h.Cluster
	for left := 0; left < 4; left++ {
		h.Cluster = &killed{alive, left}
		_, err := h.Begin(t.Context(), large)
		require.ErrorIs(t, err, errKilled)
		entries := statuses(t, h)
		require.Len(t, entries, 2, "no head without its chunks")
		secrets, err := h.Records(t.Context())
		require.NoError(t, err)
		require.Len(t, present(secrets), 2+left)
	}
	h.Cluster = alive
	n := carriedOut(t, h, large, Deployed)
	require.Equal(t, []string{"1 superseded", "2 failed", fmt.Sprint(n, " deployed")}, statuses(t, h))
	read, err := h.Read(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, large.Plan, read.Plan)
	stored, err := h.ReadIndex(t.Context())
	require.NoError(t, err)
	require.Len(t, stored.chunks, 1, "the others are swept")
}

// present returns the Secrets that are not terminating.
func present(secrets []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, secret := range secrets {
		if secret.GetDeletionTimestamp() == nil {
			out = append(out, secret)
		}
	}
	return out
}

// 30 MB that gzip hardly compresses are stored and read.
func testLarge(t *testing.T, h History) {
	large := revisionOf(t, incompressible(t, 8<<20), ordering.Options{})
	n := carriedOut(t, h, large, Deployed)
	secrets, err := h.Records(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(secrets), 5)
	read, err := h.Read(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, len(large.Resources), len(read.Resources))
	require.Equal(t, digestOf(t, large), digestOf(t, *read))
	_, err = h.Drop(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, statuses(t, h))
}

// generous bounds waits for a real cluster.
const (
	generous = 2 * time.Minute
	often    = 50 * time.Millisecond
)

// A revision that was deleted during its run is not created again when that
// ends.
func testDeleted(t *testing.T, h History) {
	n := begin(t, h, numbered(t, 1))
	stored, err := h.ReadIndex(t.Context())
	require.NoError(t, err)
	_, err = h.Drop(t.Context(), nil)
	require.NoError(t, err)
	err = h.End(t.Context(), n, Outcome{Status: Deployed})
	require.EqualError(t, err, "mark revision 1 as deployed of apply set history-deleted/shop: it was deleted in the meantime")
	require.Eventually(t, func() bool {
		secrets, err := h.Records(t.Context())
		return err == nil && len(secrets) == 0
	}, generous, often)
	require.Error(t, h.mark(t.Context(), stored.Newest(), Deployed))
	require.Empty(t, statuses(t, h))
}

// The error for a revision with a missing part says how to continue without
// it.
func testDamaged(t *testing.T, h History) {
	n := carriedOut(t, h, revisionOf(t, incompressible(t, 2*chunkSize), ordering.Options{}), Deployed)
	stored, err := h.ReadIndex(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.remove(t.Context(), stored.chunks[n][0]))
	_, err = h.Read(t.Context(), n)
	require.EqualError(t, err, fmt.Sprintf("read revision 1 of apply set history-damaged/shop: its Secret %s does not exist; it cannot be restored: "+
		"to continue without it, delete it (kubectl delete secret ordapply.shop.v1 -n history-damaged) and run this again", stored.chunks[n][0].GetName()))
}
