package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// withMembers returns a cluster with a set that has members of three kinds in
// two namespaces.
func withMembers(t *testing.T) *store {
	t.Helper()
	cluster := newStore()
	done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b", "LimitRange shop/c"))
	return cluster
}

// rewritten changes the annotations of the set's parent by hand.
func rewritten(t *testing.T, cluster *store, annotations map[string]string) {
	t.Helper()
	live := cluster.at("secrets/shop/shop")
	all := live.GetAnnotations()
	for key, value := range annotations {
		if all[key] = value; value == "-" {
			delete(all, key)
		}
	}
	live.SetAnnotations(all)
	cluster.add(secretKind(), live)
}

// deleteParent deletes the parent of the set by hand.
func deleteParent(_ *testing.T, cluster *store) { cluster.drop("secrets/shop/shop") }

// contradicted sets an annotation of the parent by hand.
func contradicted(key, value string) func(*testing.T, *store) {
	return func(t *testing.T, cluster *store) { rewritten(t, cluster, map[string]string{key: value}) }
}

// ways are the ways in which a parent loses the kinds or namespaces of its
// members.
func ways() map[string]func(*testing.T, *store) {
	return map[string]func(*testing.T, *store){
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
// they are pruned or kept as they would be otherwise.
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
				require.Contains(t, cluster.promise(t), "ConfigMap,LimitRange,ServiceAccount")
				require.Contains(t, cluster.promise(t), " other")
				require.Contains(t, noted, "were found by")

				cluster = withMembers(t)
				lose(t, cluster)
				done(t, runOf(t, cluster, "ConfigMap shop/a"))
				require.Equal(t, []string{"configmaps/a"}, cluster.members())
				require.Equal(t, "ConfigMap", cluster.promise(t))

				cluster = withMembers(t)
				lose(t, cluster)
				_, err = dissolution(cluster).Do(t.Context())
				require.NoError(t, err)
				require.Empty(t, cluster.members())
			})
		})
	}
}

// A user who may not list all kinds finds what the history contains, if the
// history is complete. Otherwise the error says what to do.
func TestMembersThatMayNotBeLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withMembers(t)
		deleteParent(t, cluster)
		cluster.refuse = forbidding("leases", "", "shop")
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, []string{"configmaps/a"}, cluster.members())

		for range 12 {
			cluster.refuse = nil
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		}
		deleteParent(t, cluster)
		cluster.refuse = forbidding("leases", "", "shop")
		_, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.ErrorContains(t, err, "its history no longer includes its first revision")
		require.ErrorContains(t, err, "kubectl label secrets shop -n shop applyset.kubernetes.io/id="+shopParent().SetID())
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.Nil(t, cluster.at("secrets/shop/shop"))
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
			require.Equal(t, []string{"configmaps/a"}, cluster.members())
		})
	}
}

// The next run detects an old copy of the parent, as a backup restores it:
// later members are found by the history, even where not all kinds may be
// listed.
func TestAnOldCopyOfTheParentIsNotBelieved(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newStore()
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			for range 12 { // the history no longer begins with the first revision
				done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
				done(t, runOf(t, cluster, "ConfigMap shop/a"))
			}
			done(t, runOf(t, cluster, "ConfigMap shop/a", "Service shop/c"))
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			old := cluster.at("secrets/shop/shop")
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b"))
			cluster.add(secretKind(), old)
			if forbidden {
				cluster.refuse = forbidding("leases", "", "shop")
			}
			run := runOf(t, cluster, "ConfigMap shop/a")
			noted := ""
			run.OnNote = func(text string) { noted = text }
			done(t, run)
			require.Contains(t, noted, "is older than the newest revision")
			require.Equal(t, []string{"configmaps/a"}, cluster.members())
			require.Equal(t, "ConfigMap", cluster.promise(t))
			run.OnNote = func(text string) { require.Empty(t, text) }
			done(t, run)
		})
	}
}

// A parent that an older version wrote gets its number; one that already
// covered a revision keeps its number.
func TestTheParentCarriesANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		number := func(cluster *store) string { return cluster.at("secrets/shop/shop").GetAnnotations()[numberAnnotation] }
		cluster := newStore()
		silent := func(objects ...string) {
			run := runOf(t, cluster, objects...)
			run.OnNote = func(text string) { require.Empty(t, text) }
			done(t, run)
		}
		silent("ConfigMap shop/a")
		silent("ConfigMap shop/b")
		require.Equal(t, "1", number(cluster))
		silent("ConfigMap shop/b", "ServiceAccount shop/c")
		require.Equal(t, "3", number(cluster))
		silent("ConfigMap shop/b")
		require.Equal(t, "4", number(cluster), "narrowed")
		silent("ConfigMap shop/b")
	})
}

// A parent as it was written costs no further requests.
func TestParentAsItWasWrittenIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withMembers(t)
		cluster.refuse = func(verb string, kind kube.Kind, _, name string) error {
			require.False(t, verb == "get" && kind.Resource.Resource == "secrets" && name == "ordapply.shop.v1", "the history is not read")
			return nil
		}
		run := runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount other/b", "LimitRange shop/c")
		run.OnNote = func(text string) { require.Empty(t, text) }
		done(t, run)
		cluster.refuse = nil
		// One of an older version is trusted too, and gets a digest.
		rewritten(t, cluster, map[string]string{digestAnnotation: "-"})
		done(t, run)
		require.NotEmpty(t, cluster.at("secrets/shop/shop").GetAnnotations()[digestAnnotation])
	})
}

// A parent without the label of its set was edited too. One of a kind with
// other uses is rejected.
func TestAParentWithoutItsLabelWasChanged(t *testing.T) {
	parent := applyset.Parent{ID: object.ID{Group: "applysets.example.com", Kind: "ApplySet", Name: "wide"}, Tooling: applyset.Tooling}
	set := &Set{Parent: parent, version: "v1"}
	live := set.manifest(parent)
	_, err := set.readContents(live)
	require.NoError(t, err)
	require.False(t, set.parentEdited)
	live.SetLabels(nil)
	_, err = set.readContents(live)
	require.NoError(t, err)
	require.True(t, set.parentEdited)
}
