package apply_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/test/memcluster"
)

// A policy of another tool decides what is written: an object that exists is never
// changed, and one that must not be created is not.
func TestPoliciesOfOtherTools(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		exists     bool
		patches    int
		state      event.State
	}{
		"Flux creates only, absent":  {"kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent", false, 1, event.Ready},
		"Flux creates only, there":   {"kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent", true, 0, event.Ready},
		"cli-utils creates only":     {"client.lifecycle.config.k8s.io/mutation", "ignore", true, 0, event.Ready},
		"kapp skips updates":         {"kapp.k14s.io/update-strategy", "skip", true, 0, event.Ready},
		"Flux ignores, absent":       {"kustomize.toolkit.fluxcd.io/ssa", "Ignore", false, 0, event.Applied},
		"Flux ignores, there":        {"kustomize.toolkit.fluxcd.io/reconcile", "disabled", true, 0, event.Ready},
		"kapp does nothing, absent":  {"kapp.k14s.io/noop", "", false, 0, event.Applied},
		"kapp waits until it exists": {"kapp.k14s.io/exists", "", true, 0, event.Ready},
		"no policy":                  {"example.com/any", "", true, 1, event.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			for _, membership := range []applyset.Membership{{}, {Set: "applyset-mine-v1"}} {
				synctest.Test(t, func(t *testing.T) {
					cluster := newControlled()
					if c.exists {
						cluster.Put(memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod("b")}, true))
					}
					manifest := plainPod("b")
					unstructured.SetNestedStringMap(manifest, map[string]string{c.key: c.value}, "metadata", "annotations")
					summary, err := cluster.run(t, apply.Applier{Manager: "ordapply:mine", Membership: membership, NoDiagnosis: true}, manifest, plainPod("z"))
					require.NoError(t, err)
					require.Equal(t, c.patches, cluster.Patched["b"])
					require.Equal(t, 1, cluster.Patched["z"])
					require.Equal(t, c.state, summary.Results[0].State)
				})
			}
		})
	}
}

// An object that cannot be read may exist: it is not overwritten.
func TestPolicyOnWhatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.Refuse = memcluster.Forbids("list", "get")
		manifest := plainPod("b")
		unstructured.SetNestedStringMap(manifest, map[string]string{"client.lifecycle.config.k8s.io/mutation": "ignore"}, "metadata", "annotations")
		_, err := cluster.run(t, apply.Applier{NoDiagnosis: true}, manifest)
		require.ErrorContains(t, err, "client.lifecycle.config.k8s.io/mutation: ignore leaves an existing object as it is")
		require.Zero(t, cluster.Patched["b"])
	})
}
