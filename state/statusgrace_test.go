package state

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/memcluster"
)

// A run waits for the status grace of its last resources, too, if it goes on to delete objects or
// is undone when it fails: a resource that turns out to be broken must stop that.
func TestTheStatusGraceBeforeADeletionOrAnUndo(t *testing.T) {
	silent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "silents.grace.example"},
		"spec": map[string]any{"group": "grace.example", "names": map[string]any{"kind": "Silent", "plural": "silents"}, "scope": "Namespaced", "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}}},
		}},
	}}
	const grace = 15 * time.Second
	for name, c := range map[string]struct {
		existing bool // the set has a member that the stream does not contain
		how      func(*Run)
		took     time.Duration
	}{
		"nothing follows":                   {how: func(r *Run) { r.Prune = false }},
		"something follows":                 {how: func(r *Run) { r.Last = false }, took: grace},
		"an existing set without prune":     {existing: true, how: func(r *Run) { r.Prune = false }},
		"prune of a new set":                {how: func(*Run) {}},
		"prune of an existing set":          {existing: true, how: func(*Run) {}, took: grace},
		"prune of members of another's set": {how: func(r *Run) { r.TakeOver = true }, took: grace},
		"it is undone": {how: func(r *Run) {
			r.Undo = func(context.Context, *history.Revision) (Run, error) { return Run{}, nil }
		}, took: grace},
		"stacks are undone": {how: func(r *Run) { r.Atomic = []AtomicStack{{Name: "a"}} }, took: grace},
		"it undoes another": {how: func(r *Run) {
			r.Prune, r.undone.adopted = false, []history.Adopted{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}}}
		}, took: grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				if c.existing {
					_, err := runOf(t, cluster, "ConfigMap shop/old").Do(t.Context())
					require.NoError(t, err)
				}
				r := runOf(t, cluster, "Silent.grace.example shop/one")
				r.Applier.Health = &health.Assessor{}
				r.Applier.Health.Learn(silent)
				r.Last = true
				c.how(&r)
				start := time.Now()
				summary, err := r.Do(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, summary.Assumed())
				require.Equal(t, c.took, time.Since(start))
			})
		})
	}
}
