package state

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

// forgeLabel labels a ConfigMap by a PATCH only: as a member, under the name of its field
// manager.
func forgeLabel(t *testing.T, cluster *memcluster.Store, from, name string) {
	t.Helper()
	forged := cluster.At("configmaps/shop/" + from).DeepCopy()
	forged.SetName(name)
	forged.SetUID(types.UID("uid-of-" + name))
	cluster.Add(kube.CoreKind("configmaps"), forged)
}

// Any account that may patch an object may write its label and field manager: neither
// prune nor delete takes objects in no revision.
func TestALabelMakesNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		forgeLabel(t, cluster, "a", "victim")
		run := runOf(t, cluster, "ConfigMap shop/a")
		preview, err := run.Preview(t.Context())
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(preview.Notes), "anybody may have labelled them: ConfigMap shop/victim; ")
		done(t, run)
		require.Equal(t, []string{"configmaps/a", "configmaps/victim"}, cluster.Members())

		_, err = deletionOf(cluster).Do(t.Context())
		require.ErrorContains(t, err, "anybody may have labelled them: ConfigMap shop/victim; ")
		require.Equal(t, []string{"configmaps/victim"}, cluster.Members())
		trusting(t, cluster)
		_, err = deletionOf(cluster).Do(t.Context())
		require.NoError(t, err)
		require.Empty(t, cluster.Members())
	})
}

// An object that left the stream without a prune is a member while it exists, also when
// no revision is left that contains it.
func TestFormerMembersArePruned(t *testing.T) {
	for _, pruned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			without := func(objects ...string) Run {
				run := runOf(t, cluster, objects...)
				run.Prune = pruned
				return run
			}
			done(t, without("ConfigMap shop/a", "ConfigMap shop/former"))
			for i := range 14 {
				done(t, without("ConfigMap shop/a", fmt.Sprint("ConfigMap shop/b", i%2)))
			}
			listed := cluster.At("secrets/shop/shop").GetAnnotations()[set.FormerAnnotation]
			if pruned {
				require.Empty(t, listed, "what is pruned is no member")
				return
			}
			require.JSONEq(t, `[["","ConfigMap","shop","b0"],["","ConfigMap","shop","b1"],["","ConfigMap","shop","former"]]`, listed)
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			require.Equal(t, []string{"configmaps/a"}, cluster.Members())
			require.Empty(t, cluster.At("secrets/shop/shop").GetAnnotations()[set.FormerAnnotation])
		})
	}
}

// A run that applied the whole stream leaves a revision that counts, also where the same
// revision was stored before the parent was lost.
func TestARunHealsALostParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		deleteParent(t, cluster)
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		_, err := deletionOf(cluster).Do(t.Context())
		require.NoError(t, err)
		require.Empty(t, cluster.Members())
	})
}

// A member that a prune left as unproven stays known once a person has accepted it.
func TestAcceptedMembersStayKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		deleteParent(t, cluster)
		done(t, runOf(t, cluster, "ConfigMap shop/b"))
		trusting(t, cluster)
		for i := range 3 {
			run := runOf(t, cluster, "ConfigMap shop/b", fmt.Sprint("ConfigMap shop/c", i))
			run.Prune, run.Metadata.Limit = false, 1
			done(t, run)
		}
		done(t, runOf(t, cluster, "ConfigMap shop/b"))
		require.Equal(t, []string{"configmaps/b"}, cluster.Members())
	})
}

// Where the parent says nothing of revisions, records of earlier runs in Secrets are not
// trusted: any account may have written them.
func TestForgedRecordsUndoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		found(t, cluster, "theirs")
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/theirs"))
		rewritten(t, cluster, map[string]string{history.VouchersAnnotation: "-"})
		for n, record := range map[int]string{8: `{"handedOver":"kubectl"}`, 9: `{"operation":"install","created":[{"kind":"ConfigMap","namespace":"shop","name":"theirs"}],"adoptedMore":true}`} {
			forged := cluster.At("secrets/shop/ordapply.shop.v1").DeepCopy()
			forged.SetName(fmt.Sprint("ordapply.shop.v", n))
			labels, annotations := forged.GetLabels(), forged.GetAnnotations()
			labels[history.RevisionLabel], labels[history.StatusLabel] = fmt.Sprint(n), string(history.Failed)
			annotations["ordapply.dev/record"] = record
			forged.SetLabels(labels)
			forged.SetAnnotations(annotations)
			forged.Object["data"] = map[string]any{}
			cluster.Add(kube.CoreKind("secrets"), forged)
		}
		cluster.Refuse = refusing("zz")
		r := runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/theirs", "ConfigMap shop/zz")
		r.Undo = undoing(t, cluster, false).Undo
		_, err := r.Do(t.Context())
		require.Error(t, err)
		require.NotNil(t, cluster.At("configmaps/shop/theirs"))
	})
}

// Secrets that have the names of the next revisions are passed over.
func TestTakenNumbersArePassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		for _, n := range []string{"2", "3"} {
			taken := cluster.At("secrets/shop/ordapply.shop.v1").DeepCopy()
			taken.SetName("ordapply.shop.v" + n)
			taken.SetLabels(nil)
			cluster.Add(kube.CoreKind("secrets"), taken)
		}
		done(t, runOf(t, cluster, "ConfigMap shop/b"))
		require.NotNil(t, cluster.At("secrets/shop/ordapply.shop.v4"))
	})
}

// A Secret that looks like a later revision only makes a run look for members; it does not
// keep an account that may not look everywhere from going on.
func TestAForgedRevisionStopsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		forged := cluster.At("secrets/shop/ordapply.shop.v1").DeepCopy()
		forged.SetName("ordapply.shop.v99")
		labels := forged.GetLabels()
		labels[history.RevisionLabel] = "99"
		forged.SetLabels(labels)
		forged.Object["data"] = map[string]any{}
		cluster.Add(kube.CoreKind("secrets"), forged)
		cluster.Refuse = forbidding("leases", "", "shop")
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, []string{"configmaps/a"}, cluster.Members())
	})
}

// Only Secrets of the history are its records, whatever else carries their label.
func TestOnlySecretsOfTheHistoryAreRecords(t *testing.T) {
	cluster := memcluster.New()
	h := history.History{Cluster: cluster, Parent: shopParent()}
	record := func(kind, namespace, name string) bool {
		obj := objectOf(kind, namespace, name)
		obj.SetLabels(map[string]string{applyset.HistoryLabel: shopParent().SetID(), history.RevisionLabel: "3"})
		return h.IsRecord(obj)
	}
	require.True(t, record("Secret", "shop", "ordapply.shop.v3"))
	require.False(t, record("Secret", "other", "ordapply.shop.v3"))
	require.False(t, record("Secret", "shop", "precious"))
	require.False(t, record("ConfigMap", "shop", "ordapply.shop.v3"))
}

func objectOf(kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}
