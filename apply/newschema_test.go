package apply_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// lateSchema publishes the schemas of definitions some time after it was asked first.
type lateSchema struct {
	*memcluster.Scripted
	after time.Duration
	asked time.Time
	times atomic.Int32
}

func (c *lateSchema) Schema(context.Context, schema.GroupVersionKind) (map[string]any, error) {
	if c.times.Add(1) == 1 {
		c.asked = time.Now()
	}
	if time.Since(c.asked) < c.after {
		return map[string]any{}, nil
	}
	return map[string]any{"type": "object"}, nil
}

// A changed definition is ready when its new schema is published. Other changes of it meanwhile
// start no second wait, which would go on after the first.
func TestAChangedDefinitionWaitsOnceForItsSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "shelves.changed.example", "generation": int64(2)},
			"spec": map[string]any{"group": "changed.example", "scope": "Namespaced", "names": map[string]any{"kind": "Shelf", "plural": "shelves"}, "versions": []any{
				map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}},
			}},
		}}
		manifest := changed.DeepCopy().Object
		delete(manifest["metadata"].(map[string]any), "generation")
		live := memcluster.LiveObject(changed, true)
		live.SetGeneration(2)
		live.SetUID("changed")
		live.SetResourceVersion("1")
		live.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Established", "status": "True"}, map[string]any{"type": "NamesAccepted", "status": "True"},
		}}
		id := object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "shelves.changed.example"}
		cluster := &lateSchema{Scripted: &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{id: {Answer: live}}}, after: 450 * time.Millisecond}
		for n := range 3 {
			time.AfterFunc(time.Duration(50+100*n)*time.Millisecond, func() {
				next := live.DeepCopy()
				next.SetAnnotations(map[string]string{"seen": string(rune('a' + n))})
				cluster.Send(kube.WatchEvent{Objects: []*unstructured.Unstructured{next}})
			})
		}
		slow := map[string]any{"apiVersion": "changed.example/v1", "kind": "Shelf", "metadata": map[string]any{"name": "one", "namespace": "shop"}}
		plan, stream := planOf(t, manifest, slow)
		cluster.Scripts[object.ID{Group: "changed.example", Kind: "Shelf", Namespace: "shop", Name: "one"}] = memcluster.Script{ReadyAfter: 5 * time.Second}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Equal(t, 6*time.Second, time.Since(start).Round(time.Second))
		require.EqualValues(t, 4, cluster.times.Load(), "once each 200 ms for 450 ms, and no second wait")
	})
}
