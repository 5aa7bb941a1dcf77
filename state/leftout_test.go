package state

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

// annotate sets the annotations of a live object and drops the history, like
// that of a set that was taken over from another tool.
func annotate(t *testing.T, cluster *memcluster.Store, at string, annotations map[string]string) {
	t.Helper()
	live := cluster.At(at)
	live.SetAnnotations(annotations)
	kind, _ := cluster.Kind(live.GroupVersionKind())
	cluster.Add(kind, live)
	cluster.Drop("secrets/shop/ordapply.shop.v1")
}

// trusting is a person who accepts all revisions and members of the set.
func trusting(t *testing.T, cluster *memcluster.Store) {
	t.Helper()
	_, err := Trust{SetRef: deletionOf(cluster).SetRef, Confirm: func(Untrusted) error { return nil }}.Do(t.Context())
	require.NoError(t, err)
}

// A member with the annotation of a hook is deleted with its set: another
// tool's hooks do not affect membership.
func TestHookMemberIsDeletedWithItsSet(t *testing.T) {
	for _, annotation := range []string{"helm.sh/hook", "argocd.argoproj.io/hook"} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/hooked"))
			annotate(t, cluster, "serviceaccounts/shop/hooked", map[string]string{annotation: "test"})
			trusting(t, cluster)
			_, err := setDeletion(cluster).Do(t.Context())
			require.NoError(t, err)
			require.Empty(t, cluster.Members())

			cluster = memcluster.New()
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/hooked"))
			annotate(t, cluster, "serviceaccounts/shop/hooked", map[string]string{annotation: "PreSync"})
			trusting(t, cluster)
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			require.Equal(t, []string{"configmaps/a"}, cluster.Members())
		})
	}
}

// Every live member is in exactly one step of its set's deletion, whatever
// its annotations and whatever the history contains.
func TestEveryMemberIsInOneStep(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for n := range 500 {
		cluster := memcluster.New()
		live := map[object.ID]*unstructured.Unstructured{}
		for i := range 1 + random.IntN(12) {
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			gvk := schema.ParseGroupKind(pick("ConfigMap", "Job.batch", "Deployment.apps", "Gear.example.com", "Namespace", "CustomResourceDefinition.apiextensions.k8s.io", "Pod")).WithVersion("v1")
			obj.SetGroupVersionKind(gvk)
			obj.SetName(fmt.Sprint("m", i))
			if gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition" {
				obj.SetNamespace(pick("shop", "other"))
			}
			annotations := map[string]string{}
			for range random.IntN(4) {
				key := pick("helm.sh/hook", "argocd.argoproj.io/hook", "argocd.argoproj.io/sync-wave", "ordapply.dev/layer", "ordapply.dev/wave", "ordapply.dev/depends-on",
					"config.kubernetes.io/depends-on", "kapp.k14s.io/change-rule", "kapp.k14s.io/change-group", "helm.sh/resource-group", "helm.sh/depends-on/resource-groups", "config.kubernetes.io/local-config")
				annotations[key] = pick("test", "pre-install", "PreSync", "Skip", "PostDelete", "1", "-3", "app/l1", "true", "ConfigMap/m1", "/namespaces/shop/Pod/m0", "upsert before deleting g", "delete after deleting g", "g", `["g"]`, "no such thing")
			}
			obj.SetAnnotations(annotations)
			live[kube.Meta(obj).ID] = obj
		}
		r := memberDeletion{set: &set.Set{Parent: shopParent()}, remover: remove.Remover{Cluster: cluster}, history: history.History{Cluster: cluster, Parent: shopParent()}}
		order, _, err := r.order(t.Context(), live)
		require.NoError(t, err, n)
		steps := map[object.ID]int{}
		for _, step := range order.Steps {
			steps[step.ID]++
			require.Less(t, step.Wave, order.Waves)
		}
		require.Len(t, steps, len(live), n)
		require.Len(t, order.Steps, len(live), n)
	}
}

// Members that a plan leaves out are deleted in a last wave.
func TestDeletionWithWhatItsPlanLeavesOut(t *testing.T) {
	a, b, c := object.ID{Kind: "ConfigMap", Name: "a"}, object.ID{Kind: "ConfigMap", Name: "b"}, object.ID{Kind: "ConfigMap", Name: "c"}
	plan := &ordering.Deletion{Steps: []ordering.DeletionStep{{ID: b}}, Waves: 1}
	got := plan.WithRemaining([]object.ID{c, b, a})
	require.Equal(t, []ordering.DeletionStep{{ID: b}, {ID: a, Wave: 1}, {ID: c, Wave: 1}}, got.Steps)
	require.Equal(t, 2, got.Waves)
	require.Equal(t, plan, plan.WithRemaining([]object.ID{b}))
	require.Len(t, plan.Steps, 1)
}
