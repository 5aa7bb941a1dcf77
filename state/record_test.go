package state

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/memcluster"
)

// withHooks returns a run of ConfigMaps, and of ConfigMaps that are hooks, each as
// "event name".
func withHooks(t *testing.T, cluster *memcluster.Store, names []string, hooked ...string) Run {
	t.Helper()
	var inputs []apply.Input
	add := func(name string, annotations map[string]string) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		obj.SetNamespace("shop")
		obj.SetName(name)
		obj.SetAnnotations(annotations)
		inputs = append(inputs, apply.Input{Object: obj, Source: "test", Hook: annotations != nil})
	}
	for _, name := range names {
		add(name, nil)
	}
	for _, text := range hooked {
		event, name, _ := strings.Cut(text, " ")
		add(name, map[string]string{"helm.sh/hook": event})
	}
	r := runFor(t, inputs)
	r.Cluster, r.Applier.Cluster, r.Remover.Cluster = cluster, cluster, cluster
	addNamespace(cluster, "shop") // the hooks of a deletion do not run without it
	return r
}

// found adds a ConfigMap that another client made.
func found(t *testing.T, cluster *memcluster.Store, name string) {
	t.Helper()
	obj := runOf(t, cluster, "ConfigMap shop/"+name).Stream.Resources[0]
	kind, _ := cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	cluster.Add(kind, &unstructured.Unstructured{Object: obj.Object})
}

// historyOf returns the history of a run's set as it is now.
func historyOf(t *testing.T, r Run) history.History {
	t.Helper()
	r = r.withDefaults()
	set, err := r.open(t.Context(), true)
	require.NoError(t, err)
	return r.history(set)
}

func records(t *testing.T, r Run) []history.Entry {
	t.Helper()
	entries, err := historyOf(t, r).List(t.Context())
	require.NoError(t, err)
	return entries
}

// A run over a live application that failed was an upgrade, and so is its retry: install
// hooks initialize databases.
func TestRetryOverALiveApplicationStaysAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		found(t, cluster, "app")
		stream := func() Run {
			return withHooks(t, cluster, []string{"app"}, "pre-install init", "pre-upgrade backup")
		}
		cluster.Refuse = refusing("app")
		_, err := stream().Do(t.Context())
		require.Error(t, err)
		require.Equal(t, hook.Upgrade, records(t, stream())[0].Record().Operation)
		cluster.Refuse = nil
		done(t, stream())
		require.NotNil(t, cluster.At("configmaps/shop/backup"))
		require.Nil(t, cluster.At("configmaps/shop/init"), "an install hook ran over a live application")
		_, err = stream().Do(t.Context())
		require.NoError(t, err)
		require.Nil(t, cluster.At("configmaps/shop/init"))
	})
}

// After an install that failed, the next run is an install again, as long as nothing else
// of the stream exists.
func TestRetryOfAnInstall(t *testing.T) {
	for name, foreign := range map[string]string{"install": "", "upgrade": "late"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				cluster.Refuse = refusing("bad")
				_, err := withHooks(t, cluster, []string{"app", "bad"}, "pre-install init", "pre-upgrade backup").Do(t.Context())
				require.Error(t, err)
				require.NotNil(t, cluster.At("configmaps/shop/init"))
				cluster.Drop("configmaps/shop/init")
				cluster.Refuse = nil
				names := []string{"app", "bad"}
				if foreign != "" {
					found(t, cluster, foreign)
					names = append(names, foreign)
				}
				done(t, withHooks(t, cluster, names, "pre-install init", "pre-upgrade backup"))
				require.Equal(t, foreign == "", cluster.At("configmaps/shop/init") != nil)
				require.Equal(t, foreign != "", cluster.At("configmaps/shop/backup") != nil)
			})
		})
	}
}

// A failed first run over an application that existed uninstalls nothing: no delete hooks,
// and adopted objects stay and belong to no set.
func TestUndoOfATakeoverRunsNoDeleteHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		found(t, cluster, "app")
		r := withHooks(t, cluster, []string{"app", "new", "bad"}, "pre-delete drop-database", "post-delete purge")
		r.Undo = undoing(t, cluster, false).Undo
		cluster.Refuse = refusing("bad")
		undone := undoneBy(t, r)
		require.NoError(t, undone.Err)
		require.Nil(t, cluster.At("configmaps/shop/drop-database"))
		require.Nil(t, cluster.At("configmaps/shop/purge"))
		require.Nil(t, cluster.At("configmaps/shop/new"), "what it created is deleted")
		require.Empty(t, applyset.Owner(cluster.At("configmaps/shop/app")))
		require.Empty(t, cluster.Members())
	})
}

// Nothing existed before: the failed run was an install, and its end is an uninstall.
func TestUndoOfAnInstallRunsDeleteHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		r := withHooks(t, cluster, []string{"app", "bad"}, "pre-install left", "pre-delete drop-database")
		r.Undo = undoing(t, cluster, false).Undo
		cluster.Refuse = refusing("bad")
		undone := undoneBy(t, r)
		require.NoError(t, undone.Err)
		require.Contains(t, cluster.Log, "apply configmaps/drop-database")
		require.Nil(t, cluster.At("configmaps/shop/left"), "what hooks left goes too")
		require.Empty(t, cluster.Members())
	})
}

func deletionOf(cluster *memcluster.Store) SetDeletion {
	return SetDeletion{SetRef: SetRef{Cluster: cluster, Parent: shopSet, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, LockTimeout: time.Minute}, Remover: remove.Remover{Cluster: cluster}}
}

// ended makes every request fail, as for a run that was killed, once an object was applied.
func ended(cluster *memcluster.Store, name string) {
	var dead atomic.Bool
	cluster.Refuse = func(verb string, _ kube.Kind, _, requested string) error {
		if dead.Load() {
			return apierrors.NewForbidden(schema.GroupResource{}, requested, errors.New("killed"))
		}
		dead.CompareAndSwap(false, verb == "apply" && requested == name)
		return nil
	}
}

// Adopted objects that did not become ready are released and not deleted, whatever
// comes next: a rollback, a prune, or the deletion of the set.
func TestAdoptedObjectsOutliveTheRunThatFailed(t *testing.T) {
	fails := map[string]func(*memcluster.Store){
		"failed": func(s *memcluster.Store) { s.Refuse = refusing("zz") },
		"killed": func(s *memcluster.Store) { ended(s, "theirs") },
	}
	next := map[string]func(t *testing.T, cluster *memcluster.Store){
		"rollback": func(t *testing.T, cluster *memcluster.Store) {
			r := runOf(t, cluster, "ConfigMap shop/app")
			r.Metadata.Revision.Rollback = 1
			done(t, r)
			require.Equal(t, []string{"configmaps/app"}, cluster.Members())
		},
		"prune": func(t *testing.T, cluster *memcluster.Store) {
			done(t, runOf(t, cluster, "ConfigMap shop/app"))
			require.Equal(t, []string{"configmaps/app"}, cluster.Members())
		},
		"later prune": func(t *testing.T, cluster *memcluster.Store) {
			keeping(t, cluster, "ConfigMap shop/app", "ConfigMap shop/more")
			keeping(t, cluster, "ConfigMap shop/app")
			done(t, runOf(t, cluster, "ConfigMap shop/app"))
			require.Equal(t, []string{"configmaps/app"}, cluster.Members())
		},
		"deletion": func(t *testing.T, cluster *memcluster.Store) {
			_, err := deletionOf(cluster).Do(t.Context())
			require.NoError(t, err)
			require.Empty(t, cluster.Members())
		},
	}
	for how, fail := range fails {
		for what, goOn := range next {
			t.Run(how+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster := memcluster.New()
					done(t, runOf(t, cluster, "ConfigMap shop/app"))
					found(t, cluster, "theirs")
					fail(cluster)
					r := runOf(t, cluster, "ConfigMap shop/app", "ConfigMap shop/mine", "ConfigMap shop/theirs", "ConfigMap shop/zz")
					r.Prune = false
					_, err := r.Do(t.Context())
					require.Error(t, err)
					cluster.Refuse = nil
					cluster.Drop(theLease) // that of a killed run expires
					goOn(t, cluster)
					require.NotNil(t, cluster.At("configmaps/shop/theirs"), "what was adopted was deleted")
					require.Empty(t, applyset.Owner(cluster.At("configmaps/shop/theirs")))
					require.Nil(t, cluster.At("configmaps/shop/mine"))
				})
			})
		}
	}
}

// An adopted object that became ready is pruned like any other member.
func TestAdoptedObjectsOfADeployedRevisionArePruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		found(t, cluster, "theirs")
		done(t, runOf(t, cluster, "ConfigMap shop/app", "ConfigMap shop/theirs"))
		done(t, runOf(t, cluster, "ConfigMap shop/app"))
		require.Nil(t, cluster.At("configmaps/shop/theirs"))
	})
}

// A rollback undoes an adoption also when the revision was deployed.
func TestRollbackReleasesWhatADeployedRevisionAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/app"))
		found(t, cluster, "theirs")
		done(t, runOf(t, cluster, "ConfigMap shop/app", "ConfigMap shop/theirs"))
		r := runOf(t, cluster, "ConfigMap shop/app")
		r.Metadata.Revision.Rollback = 1
		done(t, r)
		require.NotNil(t, cluster.At("configmaps/shop/theirs"))
		require.Equal(t, []string{"configmaps/app"}, cluster.Members())
	})
}

// A member of another set that a failed run took is given back to that set.
func TestUndoGivesBackMembersOfOtherSets(t *testing.T) {
	for _, prune := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			other := runOf(t, cluster, "ConfigMap shop/shared")
			other.Parent = object.ID{Kind: "Secret", Namespace: "shop", Name: "other"}
			done(t, other)
			before := cluster.At("configmaps/shop/shared")
			done(t, runOf(t, cluster, "ConfigMap shop/app"))
			r := undoing(t, cluster, prune, "ConfigMap shop/app", "ConfigMap shop/shared", "ConfigMap shop/zz")
			r.Applier.Membership.Adopt = applyset.AdoptAny
			cluster.Refuse = refusing("zz")
			undone := undoneBy(t, r)
			require.NoError(t, undone.Err)
			after := cluster.At("configmaps/shop/shared")
			require.Equal(t, applyset.Owner(before), applyset.Owner(after))
			require.True(t, applyset.Parent{ID: other.Parent}.HasMember(after))
			require.Empty(t, after.GetAnnotations()[applyset.AppliedAnnotation])
		})
	}
}

// A stream without resources deletes nothing, whatever the caller asks for.
func TestNoRunPrunesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		r := withHooks(t, cluster, nil, "pre-upgrade only")
		_, err := r.Do(t.Context())
		require.ErrorIs(t, err, errEmptyPrune)
		_, err = r.Preview(t.Context())
		require.ErrorIs(t, err, errEmptyPrune)
		require.Equal(t, []string{"configmaps/a", "configmaps/b"}, cluster.Members())
		require.Nil(t, cluster.At("configmaps/shop/only"), "refused before the first write")
	})
}

// After the prune there is no way back: the failure is reported as such.
func TestNoUndoAfterThePrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/app", "ConfigMap shop/old"))
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "delete" && name == "old" {
				return apierrors.NewForbidden(schema.GroupResource{}, name, errors.New("stuck"))
			}
			return nil
		}
		_, err := undoing(t, cluster, true, "ConfigMap shop/app", "ConfigMap shop/new").Do(t.Context())
		require.ErrorIs(t, err, errPruned)
		require.NotNil(t, cluster.At("configmaps/shop/new"))
	})
}

// A take-over begins a new history: revisions from before another tool managed the set are
// no way back.
func TestHandOverEndsTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		r := runOf(t, cluster, "ConfigMap shop/app")
		done(t, r)
		require.NoError(t, HandOver{r.SetRef}.ToKubectl(t.Context()))
		require.Equal(t, history.Superseded, records(t, r)[0].Status)
		target, err := r.withDefaults().UndoTarget(t.Context())
		require.NoError(t, err)
		require.Nil(t, target)
		again := runOf(t, cluster, "ConfigMap shop/app")
		again.TakeOver = true
		done(t, again)
		require.Len(t, records(t, r), 2, "the same content begins a new history")
		_, err = historyOf(t, r).RollbackTarget(t.Context())
		require.ErrorContains(t, err, "nothing to roll back to")
	})
}

// The reason of a failure is stored with the revision, without values of Secrets.
func TestRevisionsStoreWhyTheyFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Refuse = refusing("app")
		r := runOf(t, cluster, "ConfigMap shop/app")
		r.Stream.Hooks = nil
		_, err := r.Do(t.Context())
		require.Error(t, err)
		require.Equal(t, "wave 1/1: apply ConfigMap shop/app: wrong", records(t, r)[0].Record().Failure)
		cluster.Refuse = nil
		done(t, runOf(t, cluster, "ConfigMap shop/app"))
		record := records(t, r)[0].Record()
		require.Empty(t, record.Failure)
		require.Equal(t, "wave 1/1: apply ConfigMap shop/app: wrong", record.FailedBefore)
		require.Equal(t, "Install complete; an earlier run of it failed: wave 1/1: apply ConfigMap shop/app: wrong", records(t, r)[0].Described().Description)
		require.Len(t, record.Created, 1)
		require.NotEmpty(t, record.Created[0].UID)
	})
}
