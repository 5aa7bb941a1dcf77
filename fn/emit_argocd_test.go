package fn

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// argoKinds returns the order of kinds within a wave in Argo CD (gitops-engine
// v0.7.3, sync_tasks.go); unknown kinds come last.
func argoKinds() []string {
	return []string{
		"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
		"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
		"CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding", "ClusterRoleBindingList", "Role",
		"RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet",
		"Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
	}
}

// TestArgoOrder sorts by Argo CD's rule (phase, wave, kind, name): the layers
// are in the required order, with Namespaces and CRDs first.
func TestArgoOrder(t *testing.T) {
	order, err := sortorder.Parse([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, emit: [argocd],
	  sortOrder: [{name: third, layer: one}, {name: second, layer: two}, {unmatched: true}, {name: first, layer: four}]}`))
	require.NoError(t, err)
	var metas []object.Meta
	for _, id := range [][2]string{{"Namespace", "shop"}, {"Deployment", "third"}, {"Secret", "second"}, {"Pod", "rest"}, {"Secret", "first"}} {
		metas = append(metas, object.Meta{ID: object.ID{Kind: id[0], Name: id[1]}})
	}
	metas = append(metas, object.Meta{ID: object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "w"}})
	for range 10 {
		rand.Shuffle(len(metas), func(i, j int) { metas[i], metas[j] = metas[j], metas[i] })
		decision := Planner{Order: order}.Plan(metas)
		require.False(t, decision.Findings.Failed())
		require.Equal(t, []string{"shop", "w", "third", "second", "rest", "first"}, argoSorted(t, metas, decision))
	}
}

// argoSorted returns the names in the order in which Argo CD syncs them. None
// of the resources is a hook, so all are in one phase.
func argoSorted(t *testing.T, metas []object.Meta, decision Decision) []string {
	indices := make([]int, len(metas))
	for i := range indices {
		indices[i] = i
	}
	wave := func(i int) int {
		n, err := strconv.Atoi(decision.Changes[i].Set[stamp.SyncWave])
		require.NoError(t, err)
		return n
	}
	kind := func(i int) int {
		if at := slices.Index(argoKinds(), metas[i].Kind); at >= 0 {
			return at
		}
		return len(argoKinds())
	}
	slices.SortFunc(indices, func(a, b int) int {
		return cmp.Or(cmp.Compare(wave(a), wave(b)), cmp.Compare(kind(a), kind(b)), cmp.Compare(metas[a].Name, metas[b].Name))
	})
	var names []string
	for _, i := range indices {
		names = append(names, metas[i].Name)
	}
	return names
}
