package state

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/memcluster"
)

// undoing returns a run over a set that rolls back when it fails, and prunes
// only if prune is set.
func undoing(t *testing.T, cluster *memcluster.Store, prune bool, objects ...string) Run {
	r := runOf(t, cluster, objects...)
	r.Prune = prune
	r.Undo = func(_ context.Context, to *history.Revision) (Run, error) {
		back := runOf(t, cluster)
		back.Plan, back.Stream = to.Plan, &apply.Stream{Resources: to.Resources, Objects: to.Objects()}
		back.Metadata.Revision = history.Revision{Options: to.Options, OrderFile: to.OrderFile, Rollback: to.Number}
		back.Prune = prune
		return back, nil
	}
	return r
}

// keeping applies objects and prunes nothing.
func keeping(t *testing.T, cluster *memcluster.Store, objects ...string) {
	r := runOf(t, cluster, objects...)
	r.Prune = false
	done(t, r)
}

// refusing rejects applies of an object as invalid.
func refusing(name string) func(string, kube.Kind, string, string) error {
	return func(verb string, _ kube.Kind, _, requested string) error {
		if verb == "apply" && requested == name {
			return apierrors.NewBadRequest("wrong")
		}
		return nil
	}
}

func undoneBy(t *testing.T, r Run) *UndoneError {
	t.Helper()
	_, err := r.Do(t.Context())
	undone, ok := errors.AsType[*UndoneError](err)
	require.True(t, ok, "%v", err)
	return undone
}

// The deployed content is applied again and fails: older revisions do not
// matter.
func TestUndoStaysAtWhatIsDeployed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a"))                        // 1
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/data")) // 2: deployed
		cluster.Refuse = refusing("a")
		cluster.Drop("configmaps/shop/a")                                                                          // so that it is applied again
		_, err := runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/data", "ConfigMap shop/b").Do(t.Context()) // 3: fails
		require.Error(t, err)
		undone := undoneBy(t, undoing(t, cluster, true, "ConfigMap shop/a", "ConfigMap shop/data")) // 4: the deployed content, once more
		require.ErrorIs(t, undone.Err, history.ErrDeployedLast)
		require.Zero(t, undone.Revision)
		require.Contains(t, cluster.Members(), "configmaps/data")
	})
}

// Only objects that the failed run created are deleted: earlier members that
// are not in the revision are kept, unless pruning was requested.
func TestUndoDeletesWhatTheRunCreated(t *testing.T) {
	for name, c := range map[string]struct {
		prune bool
		left  []string
	}{
		"kept":   {false, []string{"configmaps/app", "configmaps/old"}},
		"pruned": {true, []string{"configmaps/app"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				keeping(t, cluster, "ConfigMap shop/app", "ConfigMap shop/old") // 1
				keeping(t, cluster, "ConfigMap shop/app")                       // 2: old stays a member
				cluster.Refuse = refusing("bad")
				undone := undoneBy(t, undoing(t, cluster, c.prune, "ConfigMap shop/app", "ConfigMap shop/old", "ConfigMap shop/new", "ConfigMap shop/bad"))
				require.NoError(t, undone.Err)
				require.Equal(t, 2, undone.Revision)
				require.Equal(t, c.left, cluster.Members())
				require.Empty(t, cluster.Uncovered)
			})
		})
	}
}

// An object that existed before, and that the failed run made a member, is
// kept and reported: its earlier content is not known.
func TestUndoLeavesWhatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		keeping(t, cluster, "ConfigMap shop/app")
		foreign := runOf(t, cluster, "ConfigMap shop/found").Stream.Resources[0]
		kind, _ := cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		cluster.Add(kind, &unstructured.Unstructured{Object: foreign.Object})
		cluster.Refuse = refusing("bad")
		undone := undoneBy(t, undoing(t, cluster, false, "ConfigMap shop/app", "ConfigMap shop/found", "ConfigMap shop/bad"))
		require.NotNil(t, cluster.At("configmaps/shop/found"))
		require.Equal(t, []object.ID{foreign.ID}, undone.Left)
		require.EqualError(t, undone.Outcome(), "rolled back to revision 1; not rolled back, because they may have existed before the run: ConfigMap shop/found")
	})
}

// It is kept even where the run would prune, and is no longer a member: a
// later prune must not delete it.
func TestUndoPrunesNothingThatTheRunAdopted(t *testing.T) {
	for _, revisions := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			if revisions > 0 {
				done(t, runOf(t, cluster, "ConfigMap shop/app"))
			}
			foreign := runOf(t, cluster, "ConfigMap shop/found").Stream.Resources[0]
			kind, _ := cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			cluster.Add(kind, &unstructured.Unstructured{Object: foreign.Object})
			cluster.Refuse = refusing("bad")
			undone := undoneBy(t, undoing(t, cluster, true, "ConfigMap shop/app", "ConfigMap shop/found", "ConfigMap shop/bad"))
			require.NoError(t, undone.Err)
			require.Equal(t, []object.ID{foreign.ID}, undone.Left)
			require.NotContains(t, cluster.Members(), "configmaps/found")
			cluster.Refuse = nil
			done(t, runOf(t, cluster, "ConfigMap shop/app"))
			require.NotNil(t, cluster.At("configmaps/shop/found"))
		})
	}
}

// Where the objects may not be listed, each is read with a GET, so that the
// created ones are still known. Where they may not be read either, they are not
// known, and nothing is deleted.
func TestUndoDeletesNothingItDidNotSee(t *testing.T) {
	for verb, unseen := range map[string]int{"list": 0, "get": 1} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				keeping(t, cluster, "ConfigMap shop/app")
				bad, began := refusing("bad"), atomic.Bool{}
				cluster.Refuse = func(v string, kind kube.Kind, namespace, name string) error {
					if v == "apply" && kind.Resource.Resource == "configmaps" {
						began.Store(true)
					}
					if kind.Resource.Resource == "configmaps" && (v == "list" || v == verb && !began.Load()) {
						return apierrors.NewForbidden(kind.Resource.GroupResource(), name, nil)
					}
					return bad(v, kind, namespace, name)
				}
				undone := undoneBy(t, undoing(t, cluster, false, "ConfigMap shop/app", "ConfigMap shop/new", "ConfigMap shop/bad"))
				require.NoError(t, undone.Err)
				require.Equal(t, []string{"configmaps/app"}, cluster.Members(), "what may have existed is released")
				require.Equal(t, unseen > 0, cluster.At("configmaps/shop/new") != nil)
				require.Len(t, undone.Left, unseen)
			})
		})
	}
}

// A first install that fails leaves none of its objects.
func TestUndoOfAFirstInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Refuse = refusing("bad")
		r := undoing(t, cluster, false, "ServiceAccount extra/web", "ConfigMap shop/a", "ConfigMap shop/bad")
		r.Undo = func(context.Context, *history.Revision) (Run, error) {
			return Run{}, errors.New("there is no revision to go back to")
		}
		reported := 0
		r.OnRemoving = func(p *ordering.Plan) { reported = len(p.Steps) }
		undone := undoneBy(t, r)
		require.NoError(t, undone.Err)
		require.Zero(t, undone.Revision)
		require.Empty(t, cluster.Members())
		require.Equal(t, 2, reported)
		require.EqualError(t, undone.Outcome(), "no revision was deployed before: everything that the run created was deleted")
		entries, err := historyOf(t, r).List(t.Context())
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, history.Failed, entries[0].Status)

		again := undoneBy(t, undoing(t, cluster, false, "ConfigMap shop/bad"))
		require.EqualError(t, again.Outcome(), "--rollback-on-failure: no revision was deployed before, and the run created nothing")
	})
}

// The retry of a first install that was killed deletes objects of the killed run, too.
func TestUndoOfARetryDeletesWhatTheFirstRunCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Refuse = refusing("bad")
		_, err := runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/bad").Do(t.Context())
		require.Error(t, err)
		require.Equal(t, []string{"configmaps/a"}, cluster.Members())
		undone := undoneBy(t, undoing(t, cluster, false, "ConfigMap shop/a", "ConfigMap shop/bad"))
		require.NoError(t, undone.Err)
		require.Empty(t, undone.Left)
		require.Empty(t, cluster.Members())
	})
}

// A kind that cannot be read keeps only its own objects.
func TestUndoDeletesWhatCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Refuse = refusing("bad")
		r := undoing(t, cluster, false, "Widget.example.com shop/w", "ConfigMap shop/a", "ServiceAccount shop/web", "ConfigMap shop/bad")
		r.Undo = func(context.Context, *history.Revision) (Run, error) {
			return Run{}, errors.New("there is no revision to go back to")
		}
		r.Applier.Events = func(e event.Event) {
			if e.ID.Name == "bad" && e.State == event.Failed {
				cluster.Mu.Lock()
				defer cluster.Mu.Unlock()
				cluster.UnreadableGroups = map[string]bool{"example.com": true}
			}
		}
		undone := undoneBy(t, r)
		require.Equal(t, []string{"widgets.example.com/w"}, cluster.Members())
		require.ErrorContains(t, undone.Outcome(), "Widget.example.com")
	})
}

// The second run over a stream that does not become ready sends nothing, and
// still rolls back.
func TestUndoWhenNothingWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		keeping(t, cluster, "ConfigMap shop/app")
		cluster.Refuse = refusing("bad")
		_, err := runOf(t, cluster, "ConfigMap shop/app", "ConfigMap shop/bad").Do(t.Context())
		require.Error(t, err)
		r := undoing(t, cluster, false, "ConfigMap shop/app", "ConfigMap shop/bad").withDefaults()
		set, err := r.open(t.Context(), false)
		require.NoError(t, err)
		failed := attempt{set: set, began: true, revision: 2, failure: errors.New("not ready in time")}
		undone, ok := errors.AsType[*UndoneError](r.undo(t.Context(), failed))
		require.True(t, ok)
		require.NoError(t, undone.Err)
		require.Equal(t, 1, undone.Revision)

		failed.began = false
		require.Equal(t, failed.failure, r.undo(t.Context(), failed), "a run that might not begin changed nothing")
	})
}

// A deployment counts as deployed even if its status could not be written:
// that is no reason to roll back.
func TestNoUndoWhenOnlyTheRecordFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		keeping(t, cluster, "ConfigMap shop/app")
		cluster.Refuse = refusing("ordapply.shop.v2")
		_, err := undoing(t, cluster, false, "ConfigMap shop/app", "ConfigMap shop/more").Do(t.Context())
		require.ErrorContains(t, err, "mark revision 2 as deployed")
		_, undone := errors.AsType[*UndoneError](err)
		require.False(t, undone)
		require.Equal(t, []string{"configmaps/app", "configmaps/more"}, cluster.Members())
	})
}

// An atomic stack with a resource that was not ready before the next hooks is not whole.
func TestAStackIsWholeOnlyWhenReady(t *testing.T) {
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "one"}
	run := Run{OnFailure: OnFailure{Atomic: []AtomicStack{{Name: "shop", Resources: map[object.ID]bool{id: true}}}}}
	for unready, broken := range map[bool]int{false: 0, true: 1} {
		result := event.Result{ID: id, State: event.Applied, Unready: unready}
		result.Sent = time.Now()
		require.Len(t, run.brokenStacks(event.Summary{Results: []event.Result{result}}), broken)
	}
}
