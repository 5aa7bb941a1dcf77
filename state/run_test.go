package state

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// done runs r and requires success.
func done(t *testing.T, r Run) {
	t.Helper()
	_, err := r.Do(t.Context())
	require.NoError(t, err)
}

// deletions returns the deleted objects, without the set's own records.
func deletions(s *memcluster.Store) []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var out []string
	for _, line := range s.Log {
		if what, ok := strings.CutPrefix(line, "delete "); ok && !strings.HasPrefix(what, "secrets/") {
			out = append(out, what)
		}
	}
	return out
}

// forbidding forbids lists of a resource in namespaces, "" for lists of all.
func forbidding(resource string, namespaces ...string) func(verb string, kind kube.Kind, namespace, name string) error {
	return func(verb string, kind kube.Kind, namespace, _ string) error {
		for _, ns := range namespaces {
			if verb == "list" && kind.Resource.Resource == resource && namespace == ns {
				return apierrors.NewForbidden(kind.Resource.GroupResource(), "", nil)
			}
		}
		return nil
	}
}

// After every write each member is in the kinds and namespaces of its set:
// the set is widened before the first write and narrowed after the last
// deletion.
func TestSetKnowsItsMembersAtEveryMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b"))
		require.Equal(t, "ConfigMap,ServiceAccount other", promise(t, cluster))
		done(t, runOf(t, cluster, "ConfigMap shop/a", "LimitRange third/c"))
		require.Equal(t, "ConfigMap,LimitRange third", promise(t, cluster))
		require.Equal(t, []string{"configmaps/a", "limitranges/c"}, cluster.Members())
		require.Empty(t, cluster.Uncovered)
	})
}

// When anything of the stream failed nothing is pruned, and the set keeps the
// kinds.
func TestNothingIsPrunedAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/old"))
		cluster.Refuse = func(verb string, kind kube.Kind, _, name string) error {
			if verb == "apply" && name == "new" {
				return apierrors.NewBadRequest("wrong")
			}
			return nil
		}
		_, err := runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/new").Do(t.Context())
		require.ErrorContains(t, err, "wrong")
		require.Empty(t, deletions(cluster))
		require.Equal(t, "ConfigMap,ServiceAccount", promise(t, cluster))
	})
}

// A kind whose server does not answer may have members: the set keeps it, and
// is not deleted. A kind that is no longer served has none.
func TestKindsThatAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/old", "Limit.gone.example shop/b", "Limit.silent.example shop/c"))
		cluster.Gone = map[schema.GroupKind]bool{{Group: "gone.example", Kind: "Limit"}: true}
		cluster.UnreadableGroups = map[string]bool{"silent.example": true}
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, []string{"configmaps/old"}, deletions(cluster))
		require.Equal(t, "ConfigMap,Limit.silent.example", promise(t, cluster))

		_, err := SetDeletion{SetRef: SetRef{Cluster: cluster, Parent: shopSet, Kind: corev1.SchemeGroupVersion.WithKind("Secret")}, Remover: remove.Remover{Cluster: cluster}}.Do(t.Context())
		require.ErrorContains(t, err, "the apply set has members of kind Limit.silent.example that cannot be listed: ")
		require.Equal(t, []string{"configmaps/old"}, deletions(cluster))
		require.Equal(t, "ConfigMap,Limit.silent.example", promise(t, cluster))
	})
}

// Where the whole cluster may not be listed, the set's namespaces are; where
// one of these may not, nothing counts as missing: the run fails, and the set
// keeps its kinds.
func TestMembersThatMayNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/old", "ConfigMap other/old-too"))
		cluster.Refuse = forbidding("configmaps", "", "other")
		_, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.ErrorContains(t, err, "prune: list the ConfigMap of apply set Secret shop/shop: ")
		require.Empty(t, deletions(cluster))
		require.Equal(t, "ConfigMap other", promise(t, cluster))

		cluster.Refuse = forbidding("configmaps", "")
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.ElementsMatch(t, []string{"configmaps/old", "configmaps/old-too"}, deletions(cluster))
		require.Equal(t, "ConfigMap", promise(t, cluster))
	})
}

// The label alone makes no member: not outside the set's kinds and
// namespaces, and not on objects to which a controller copied it. Objects
// that left the set after they were listed are not deleted.
func TestLabelAloneMakesNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/old", "ConfigMap shop/leaving"))
		set := applyset.Parent{ID: shopSet}.SetID()
		copied := labelled("copied", "shop", set)
		strange := labelled("strange", "elsewhere", set)
		strange.SetManagedFields(cluster.At("configmaps/shop/old").GetManagedFields())
		kind, _ := cluster.Kind(copied.GroupVersionKind())
		cluster.Add(kind, copied)
		cluster.Add(kind, strange)
		cluster.Refuse = func(verb string, kind kube.Kind, namespace, name string) error {
			if left := cluster.At("configmaps/shop/leaving"); verb == "delete" && name == "leaving" && left.GetLabels() != nil {
				left.SetLabels(nil)
				cluster.Add(kind, left)
			}
			return nil
		}
		summary, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.NoError(t, err)
		require.NotNil(t, cluster.At("configmaps/shop/leaving"))
		require.NotNil(t, cluster.At("configmaps/shop/copied"))
		require.NotNil(t, cluster.At("configmaps/elsewhere/strange"))
		require.Nil(t, cluster.At("configmaps/shop/old"))
		for _, result := range summary.Results {
			require.NotContains(t, []string{"copied", "strange"}, result.ID.Name, "it is not spoken of either")
			if result.ID.Name == "leaving" {
				require.Equal(t, "it is no longer a member of the set", result.Detail)
			}
		}
	})
}

// An object with a controller may be a member too: when its managedFields are
// missing, it is reported, and the set keeps its kind.
func TestAnOwnedObjectWithoutManagedFieldsMayBeAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/owned"))
		kind, _ := cluster.Kind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		owned := cluster.At("serviceaccounts/shop/owned")
		owned.SetManagedFields(nil)
		yes := true
		owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "app", UID: "1", Controller: &yes}})
		cluster.Add(kind, owned)
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.NotNil(t, cluster.At("serviceaccounts/shop/owned"))
		require.Equal(t, "ConfigMap,ServiceAccount", promise(t, cluster))
	})
}

func labelled(name, namespace, set string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	obj.SetName(name)
	obj.SetNamespace(namespace)
	obj.SetLabels(map[string]string{applyset.PartOfLabel: set})
	return obj
}

// An object that is served in two groups, as Ingresses were, is one object: a
// stream that contains it in the other group keeps it.
func TestOneObjectUnderTwoGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "Route.old.example shop/web", "Route.old.example shop/other"))
		next := runOf(t, cluster, "Route.new.example shop/web")
		uid := cluster.At("routes.old.example/shop/web").GetUID()
		kind, _ := cluster.Kind(schema.GroupVersionKind{Group: "new.example", Version: "v1", Kind: "Route"})
		twin := cluster.At("routes.old.example/shop/web")
		twin.SetGroupVersionKind(schema.GroupVersionKind{Group: "new.example", Version: "v1", Kind: "Route"})
		cluster.Add(kind, twin)
		require.Equal(t, uid, twin.GetUID())
		next.Remover.NoWait = true // the store has no watches
		done(t, next)
		require.Equal(t, []string{"routes.old.example/other"}, deletionsOf(cluster, "routes"))
	})
}

// deletionsOf returns the deletions of a resource, with its group.
func deletionsOf(s *memcluster.Store, resource string) []string {
	var out []string
	for _, what := range deletions(s) {
		if name, ok := strings.CutPrefix(what, resource+"/"); ok {
			out = append(out, resource+".old.example/"+name)
		}
	}
	return out
}

// The parent of a set is not its member: the set would prune itself.
func TestParentIsNoMember(t *testing.T) {
	cluster := memcluster.New()
	_, err := runOf(t, cluster, "Secret shop/shop", "ConfigMap shop/a").Do(t.Context())
	require.EqualError(t, err, "Secret shop/shop is the parent of the apply set and cannot be a member of it: give the set another name")
	require.Empty(t, cluster.Log)
}

// Members that are kept for the set's own sake, or could not be deleted, keep their kinds
// in the set.
func TestWhatIsKeptIsStillPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "Namespace /shop"))
		summary, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.NoError(t, err)
		require.Empty(t, deletions(cluster))
		require.Equal(t, "ConfigMap,Namespace", promise(t, cluster))
		last := summary.Results[len(summary.Results)-1]
		require.Equal(t, object.ID{Kind: "Namespace", Name: "shop"}, last.ID)
		require.Equal(t, event.Kept, last.State)
	})
}

// Of two concurrent runs one begins when the other has ended.
func TestRunsDoNotInterleave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if pause := map[string]time.Duration{"a": 2 * time.Second, "b": 3 * time.Second}[name]; verb == "apply" {
				time.Sleep(pause)
			}
			return nil
		}
		var runs sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			r := runOf(t, cluster, "ConfigMap shop/"+name, "ServiceAccount shop/"+name, "LimitRange shop/"+name)
			r.Prune, r.LockTimeout, r.Applier.Workers = false, time.Hour, 1
			runs.Go(func() {
				_, err := r.Do(t.Context())
				assert.NoError(t, err)
			})
			time.Sleep(time.Millisecond) // the names of the two must differ in their time
		}
		runs.Wait()
		writers := ""
		for _, line := range cluster.Log {
			if _, name, _ := strings.Cut(line, "/"); name == "a" || name == "b" {
				writers += name
			}
		}
		require.Contains(t, []string{"aaabbb", "bbbaaa"}, writers)
	})
}

// What was read ahead in a namespace from which the set has moved its records since is not used: the
// lock is that of the new namespace.
func TestTheLockIsInTheHomeOfTheSet(t *testing.T) {
	for _, home := range []string{"shop", "former"} {
		cluster := memcluster.New()
		r := runOf(t, cluster, "ConfigMap shop/a")
		before := r.SetRef
		before.Namespace = home
		r.Ahead = before.ReadAhead(t.Context(), false)
		_, err := r.Do(t.Context())
		require.NoError(t, err)
		require.NotNil(t, cluster.At(theLease))
		require.Nil(t, cluster.At(strings.Replace(theLease, "/shop/", "/former/", 1)))
	}
}
