package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// Every tool's policy about applying has that tool's meaning.
func TestPolicyOf(t *testing.T) {
	with := func(metadata string) *unstructured.Unstructured {
		return parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, `+metadata+`}}`)
	}
	for metadata, want := range map[string]applyset.Policy{
		`annotations: {}`: applyset.Apply,
		`annotations: {client.lifecycle.config.k8s.io/mutation: ignore}`: applyset.CreateOnly,
		`annotations: {client.lifecycle.config.k8s.io/mutation: Ignore}`: applyset.Apply,
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: ifnotpresent}`:   applyset.CreateOnly,
		`labels: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}`:        applyset.CreateOnly,
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}`:          applyset.Apply,
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}`:         applyset.LeaveAlone,
		`labels: {kustomize.toolkit.fluxcd.io/reconcile: disabled}`:      applyset.LeaveAlone,
		`annotations: {kustomize.toolkit.fluxcd.io/reconcile: enabled}`:  applyset.Apply,
		`annotations: {kapp.k14s.io/update-strategy: skip}`:              applyset.CreateOnly,
		`annotations: {kapp.k14s.io/update-strategy: always-replace}`:    applyset.Apply,
		`annotations: {kapp.k14s.io/noop: ""}`:                           applyset.LeaveAlone,
		`annotations: {kapp.k14s.io/exists: ""}`:                         applyset.MustExist,
	} {
		policy, why := applyset.PolicyOf(with(metadata), nil)
		require.Equal(t, want, policy, metadata)
		require.Equal(t, want != applyset.Apply, why != "", metadata)
	}
	plain := with(`annotations: {}`)
	policy, why := applyset.PolicyOf(plain, with(`labels: {kustomize.toolkit.fluxcd.io/reconcile: disabled}`))
	require.Equal(t, applyset.LeaveAlone, policy, "suspended on the live object")
	require.Equal(t, "kustomize.toolkit.fluxcd.io/reconcile: disabled", why)
	policy, _ = applyset.PolicyOf(plain, with(`annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}`))
	require.Equal(t, applyset.Apply, policy, "only the manifest says that")
}
