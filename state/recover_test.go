package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

// withMembers returns a cluster with a set that has members of three kinds in
// two namespaces.
func withMembers(t *testing.T) *memcluster.Store {
	t.Helper()
	cluster := memcluster.New()
	done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b", "LimitRange shop/c"))
	return cluster
}

// rewritten changes the annotations of the set's parent by hand.
func rewritten(t *testing.T, cluster *memcluster.Store, annotations map[string]string) {
	t.Helper()
	live := cluster.At("secrets/shop/shop")
	all := live.GetAnnotations()
	for key, value := range annotations {
		if all[key] = value; value == "-" {
			delete(all, key)
		}
	}
	live.SetAnnotations(all)
	cluster.Add(kube.CoreKind("secrets"), live)
}

// deleteParent deletes the parent of the set by hand.
func deleteParent(_ *testing.T, cluster *memcluster.Store) { cluster.Drop("secrets/shop/shop") }

// contradicted sets an annotation of the parent by hand.
func contradicted(key, value string) func(*testing.T, *memcluster.Store) {
	return func(t *testing.T, cluster *memcluster.Store) { rewritten(t, cluster, map[string]string{key: value}) }
}

// ways are the ways in which a parent loses the kinds or namespaces of its
// members.
func ways() map[string]func(*testing.T, *memcluster.Store) {
	return map[string]func(*testing.T, *memcluster.Store){
		"deleted":       deleteParent,
		"emptied":       contradicted(applyset.GroupKindsAnnotation, ""),
		"truncated":     contradicted(applyset.GroupKindsAnnotation, "ConfigMap"),
		"no kinds":      contradicted(applyset.GroupKindsAnnotation, "garbage.."),
		"malformed":     contradicted(applyset.GroupKindsAnnotation, ".example.com"),
		"no namespaces": contradicted(applyset.NamespacesAnnotation, "-"),
		"without":       contradicted(applyset.GroupKindsAnnotation, "-"),
	}
}

// Whatever was done to the parent by hand, the next run knows the members:
// they are pruned or kept as they would be otherwise, where the parent still lists the
// revisions, or a person accepted them.
func TestMembersAreFoundAgain(t *testing.T) {
	for name, lose := range ways() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := withMembers(t)
				lose(t, cluster)
				run := runOf(t, cluster, "ConfigMap shop/a")
				preview, err := run.Preview(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, preview)
				run.Prune = false
				noted := ""
				run.OnNote = func(text string) { noted = text }
				done(t, run)
				require.Contains(t, promise(t, cluster), "ConfigMap,LimitRange,ServiceAccount")
				require.Contains(t, promise(t, cluster), " other")
				require.Contains(t, noted, "were found by")

				cluster = withMembers(t)
				lose(t, cluster)
				if name == "deleted" {
					done(t, runOf(t, cluster, "ConfigMap shop/a"))
					require.Len(t, cluster.Members(), 3, "nothing proves that runs of the set applied them")
					trusting(t, cluster)
				}
				done(t, runOf(t, cluster, "ConfigMap shop/a"))
				require.Equal(t, []string{"configmaps/a"}, cluster.Members())
				require.Equal(t, "ConfigMap", promise(t, cluster))

				cluster = withMembers(t)
				lose(t, cluster)
				trusting(t, cluster)
				_, err = setDeletion(cluster).Do(t.Context())
				require.NoError(t, err)
				require.Empty(t, cluster.Members())
			})
		})
	}
}

// A user who may not list all kinds finds the members in the history, if it is
// complete. Otherwise the error names the remedy.
func TestMembersThatMayNotBeLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withMembers(t)
		deleteParent(t, cluster)
		cluster.Refuse = forbidding("leases", "", "shop")
		trusting(t, cluster)
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, []string{"configmaps/a"}, cluster.Members())

		for range 12 {
			cluster.Refuse = nil
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		}
		deleteParent(t, cluster)
		cluster.Refuse = forbidding("leases", "", "shop")
		_, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.ErrorContains(t, err, "its history no longer includes its first revision")
		require.ErrorContains(t, err, "kubectl label secrets shop -n shop applyset.kubernetes.io/id="+shopParent().SetID())
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.Nil(t, cluster.At("secrets/shop/shop"))
	})
}

// A parent with the digest and without a tooling annotation is ours, and was
// edited: its kinds are not trusted, even with --take-over.
func TestAParentWithoutItsToolWasChanged(t *testing.T) {
	for _, takeOver := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := withMembers(t)
			rewritten(t, cluster, map[string]string{applyset.ToolingAnnotation: "-", applyset.GroupKindsAnnotation: "ConfigMap"})
			run := runOf(t, cluster, "ConfigMap shop/a")
			run.TakeOver = takeOver
			done(t, run)
			require.Equal(t, []string{"configmaps/a"}, cluster.Members())
		})
	}
}

// The next run detects an old copy of the parent, as a backup restores it:
// later members are found by the history, even where not all kinds may be
// listed.
func TestAnOldCopyOfTheParentIsNotTrusted(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.New()
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			for range 12 { // the history no longer begins with the first revision
				done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
				done(t, runOf(t, cluster, "ConfigMap shop/a"))
			}
			done(t, runOf(t, cluster, "ConfigMap shop/a", "Service shop/c"))
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			old := cluster.At("secrets/shop/shop")
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b"))
			cluster.Add(kube.CoreKind("secrets"), old)
			if forbidden {
				cluster.Refuse = forbidding("leases", "", "shop")
			}
			run := runOf(t, cluster, "ConfigMap shop/a")
			noted := ""
			run.OnNote = func(text string) { noted += text + "\n" }
			done(t, run)
			require.Contains(t, noted, "is older than the newest revision")
			require.Contains(t, noted, "does not list them as revisions: Secret shop/ordapply.shop.v28;")
			require.Equal(t, []string{"configmaps/a", "serviceaccounts/b"}, cluster.Members())
			cluster.Refuse = nil
			trusting(t, cluster)
			done(t, run)
			require.Equal(t, []string{"configmaps/a"}, cluster.Members())
			require.Equal(t, "ConfigMap", promise(t, cluster))
			noted = ""
			done(t, run)
			require.NotContains(t, noted, "is older")
		})
	}
}

// The parent has the number of the newest revision.
func TestTheParentCarriesANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		number := func(cluster *memcluster.Store) string {
			return cluster.At("secrets/shop/shop").GetAnnotations()[set.NumberAnnotation]
		}
		cluster := memcluster.New()
		silent := func(objects ...string) {
			run := runOf(t, cluster, objects...)
			run.OnNote = func(text string) { require.Empty(t, text) }
			done(t, run)
		}
		silent("ConfigMap shop/a")
		silent("ConfigMap shop/b")
		require.Equal(t, "2", number(cluster))
		silent("ConfigMap shop/b", "ServiceAccount shop/c")
		require.Equal(t, "3", number(cluster))
		silent("ConfigMap shop/b")
		require.Equal(t, "4", number(cluster), "narrowed")
		silent("ConfigMap shop/b")
		require.Equal(t, "4", number(cluster))
	})
}

// A parent as it was written costs no further requests.
func TestParentAsItWasWrittenIsTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withMembers(t)
		cluster.Refuse = func(verb string, kind kube.Kind, _, name string) error {
			require.False(t, verb == "get" && kind.Resource.Resource == "secrets" && name == "ordapply.shop.v1", "the history is not read")
			return nil
		}
		run := runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b", "LimitRange shop/c")
		run.OnNote = func(text string) { require.Empty(t, text) }
		done(t, run)
		cluster.Refuse = nil
		// One of an older version is trusted too, and gets a digest.
		rewritten(t, cluster, map[string]string{set.DigestAnnotation: "-"})
		done(t, run)
		require.NotEmpty(t, cluster.At("secrets/shop/shop").GetAnnotations()[set.DigestAnnotation])
	})
}
