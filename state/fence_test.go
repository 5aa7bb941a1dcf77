package state

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// fenceable is a cluster that records whether each PATCH had a fence.
type fenceable struct {
	*memcluster.Store
	fence  kube.Fence
	fenced map[string]bool // by name of the object
}

func (f fenceable) Fenced(fence kube.Fence) kube.Cluster {
	f.fence = fence
	return f
}

func (f fenceable) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	f.fenced[obj.GetName()] = f.fence != nil && f.fence(ctx) == nil
	return f.Store.Apply(ctx, kind, obj, o)
}

// Operations on a set that the exploration does not know write under its lock, too.
func TestOtherOperationsAreFenced(t *testing.T) {
	for name, operation := range map[string]func(context.Context, SetRef) error{
		"hand-over": func(ctx context.Context, ref SetRef) error { return HandOver{ref}.ToKubectl(ctx) },
		"trust": func(ctx context.Context, ref SetRef) error {
			_, err := Trust{SetRef: ref, Confirm: func(Untrusted) error { return nil }}.Do(ctx)
			return err
		},
		"new home": func(ctx context.Context, ref SetRef) error {
			ref.NewHome = "elsewhere"
			_, err := ref.replaceHome(ctx, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := fenceable{Store: memcluster.New(), fenced: map[string]bool{}}
				run := runOf(t, cluster.Store, "ConfigMap shop/a")
				run.Parent = object.ID{Group: "ordapply.dev", Kind: "ApplySet", Name: "shop"}
				run.Kind, run.Namespace = schema.GroupVersionKind{Group: "ordapply.dev", Version: "v1", Kind: "ApplySet"}, "shop"
				done(t, run)
				forgeLabel(t, cluster.Store, "a", "victim")
				run.SetRef.Cluster = cluster
				require.NoError(t, operation(t.Context(), run.SetRef))
				require.True(t, cluster.fenced["shop"], "%v", cluster.fenced)
				for name, fenced := range cluster.fenced {
					require.True(t, fenced, name)
				}
			})
		})
	}
}
