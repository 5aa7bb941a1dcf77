package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
)

// Every tool's protections have that tool's meaning, for a prune and for a
// deletion.
func TestProtection(t *testing.T) {
	const options = "argocd.argoproj.io/sync-options"
	for metadata, want := range map[string]struct{ prune, deletion bool }{
		`annotations: {ordapply.dev/lifecycle: keep}`:                                        {true, true},
		`annotations: {client.lifecycle.config.k8s.io/deletion: detach}`:                     {true, true},
		`annotations: {cli-utils.sigs.k8s.io/on-remove: keep}`:                               {true, true},
		`annotations: {helm.sh/resource-policy: keep}`:                                       {true, true},
		`annotations: {helm.sh/resource-policy: " Keep "}`:                                   {true, true},
		`annotations: {helm.sh/resource-policy: delete}`:                                     {false, false},
		`annotations: {` + options + `: Prune=false}`:                                        {true, false},
		`annotations: {` + options + `: Prune=confirm}`:                                      {true, true},
		`annotations: {` + options + `: Delete=false}`:                                       {false, true},
		`annotations: {` + options + `: Delete=confirm}`:                                     {false, true},
		`annotations: {` + options + `: "ServerSideApply=true, Prune=false , Delete=false"}`: {true, true},
		`annotations: {` + options + `: "PruneLast=true,Prune=true"}`:                        {false, false},
		`annotations: {` + options + `: prune=False}`:                                        {true, false},
		`annotations: {client.lifecycle.config.k8s.io/deletion: " Detach "}`:                 {true, true},
		`annotations: {kapp.k14s.io/delete-strategy: orphan}`:                                {true, true},
		`annotations: {kapp.k14s.io/delete-strategy: Orphan}`:                                {true, true},
		`annotations: {kapp.k14s.io/delete-strategy: ""}`:                                    {false, false},
		`annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}`:                         {true, true},
		`labels: {kustomize.toolkit.fluxcd.io/prune: Disabled}`:                              {true, true},
		`annotations: {kustomize.toolkit.fluxcd.io/prune: enabled}`:                          {false, false},
		`annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}`:                     {true, true},
		`labels: {kustomize.toolkit.fluxcd.io/ssa: ignore}`:                                  {true, true},
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}`:                       {false, false},
		`annotations: {}`: {false, false},
	} {
		obj := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, `+metadata+`}}`)
		require.Equal(t, want.prune, applyset.Protection(obj, applyset.Prune) != "", "prune: %s", metadata)
		require.Equal(t, want.deletion, applyset.Protection(obj, applyset.Delete) != "", "delete: %s", metadata)
		require.Equal(t, want.prune || want.deletion, applyset.Protection(obj, "") != "", "any: %s", metadata)
	}
	require.Equal(t, options+": Prune=false", applyset.Protection(parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {`+options+`: "Delete=false, Prune=false"}}}`), applyset.Prune))
}
