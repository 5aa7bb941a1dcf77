package history

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// A watched cluster records the versions of which LISTs need not be newer, and the last Secret.
type watched struct {
	Cluster
	notOlderThan []string
	stored       *unstructured.Unstructured
}

func (w *watched) List(ctx context.Context, kind kube.Kind, namespace string, q kube.Query) ([]*unstructured.Unstructured, error) {
	w.notOlderThan = append(w.notOlderThan, q.NotOlderThan)
	return w.Cluster.List(ctx, kind, namespace, q)
}

func (w *watched) Create(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) (made *unstructured.Unstructured, err error) {
	made, err = w.Cluster.Create(ctx, kind, obj)
	w.stored = made
	return made, err
}

// A run reads the latest history as it begins. As it ends, the history need not be newer than what
// the run has stored; a run that has stored nothing reads the latest again. A deletion drops everything
// that its index had.
func testLatest(t *testing.T, h History) {
	w := &watched{Cluster: h.Cluster}
	h.Cluster = w
	run := func(r Revision) {
		t.Helper()
		began, err := h.ReadIndex(t.Context())
		require.NoError(t, err)
		draft, err := h.NewDraft(r)
		require.NoError(t, err)
		draft, err = h.Encode(began, draft, r.Cluster)
		require.NoError(t, err)
		n, err := h.BeginAfter(t.Context(), began, draft, Record{})
		require.NoError(t, err)
		require.NoError(t, h.End(t.Context(), n, Outcome{Status: Deployed, Began: began, Stream: r}))
	}
	for _, want := range [][]string{{"1 deployed"}, {"1 superseded", "2 deployed"}} {
		w.notOlderThan = nil
		run(numbered(t, len(want)))
		require.Equal(t, []string{"", w.stored.GetResourceVersion()}, w.notOlderThan)
		require.Equal(t, want, statuses(t, h))
	}
	carriedOut(t, h, numbered(t, 3), Failed)
	w.notOlderThan = nil
	run(numbered(t, 3))
	require.Equal(t, []string{"", ""}, w.notOlderThan, "it retried what was stored")

	w.notOlderThan = nil
	ahead := h.ReadAhead(t.Context())
	for range 2 {
		index, err := ahead.ReadIndex(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, index.Newest().Number)
	}
	require.Equal(t, []string{""}, w.notOlderThan, "it was listed once")

	leftover := w.stored.DeepCopy() // as a killed run leaves it, newer than the newest revision
	leftover.SetName("leftover")
	leftover.SetResourceVersion("")
	leftover.SetUID("")
	leftover, err := w.Cluster.Create(t.Context(), kube.CoreKind("secrets"), leftover)
	require.NoError(t, err)
	index, err := h.ReadIndex(t.Context())
	require.NoError(t, err)
	w.notOlderThan = nil
	_, err = h.Drop(t.Context(), &index)
	require.NoError(t, err)
	require.Equal(t, []string{leftover.GetResourceVersion()}, w.notOlderThan)
	require.Empty(t, statuses(t, h))
}
