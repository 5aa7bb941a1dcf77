package keys

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
)

// Keys of other tools without effect in ordapply are reported, and keys that are nearly
// theirs; honoured keys, and keys about something else, are not.
func TestCheckTools(t *testing.T) {
	for text, want := range map[[2]string]string{
		{"argocd.argoproj.io/sync-options", "Prune=false,Delete=false"}:                       "",
		{"argocd.argoproj.io/sync-options", "SkipDryRunOnMissingResource=true, Replace=true"}: "Replace=true has no effect",
		{"argocd.argoproj.io/sync-option", "Prune=false"}:                                     "did you mean argocd.argoproj.io/sync-options?",
		{"argocd.argoproj.io/compare-options", "IgnoreExtraneous"}:                            "",
		{"kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent"}:                                   "",
		{"kustomize.toolkit.fluxcd.io/prun", "disabled"}:                                      "did you mean kustomize.toolkit.fluxcd.io/prune?",
		{"kustomize.toolkit.fluxcd.io/force", "Enabled"}:                                      "ordapply.dev/on-immutable: recreate",
		{"kapp.k14s.io/versioned", ""}:                                                        "the object keeps its name",
		{"kapp.k14s.io/update-strategy", "always-replace"}:                                    "has no effect",
		{"kapp.k14s.io/update-strategy", "skip"}:                                              "",
		{"kapp.k14s.io/delete-stratgy", "orphan"}:                                             "did you mean kapp.k14s.io/delete-strategy?",
		{"kapp.k14s.io/change-rule.one", "upsert after upserting a"}:                          "",
		{"config.kubernetes.io/apply-time-mutation", "- sourceRef: {}"}:                       "",
		{"config.kubernetes.io/apply-time-mutations", "- sourceRef: {}"}:                      "did you mean config.kubernetes.io/apply-time-mutation?",
		{"helm.sh/hook-wieght", "1"}:                                                          "did you mean helm.sh/hook-weight?",
		{"helm.sh/layers", "a"}:                                                               "did you mean helm.sh/layer?",
		{"helm.sh/depend-on/layers", "a"}:                                                     "did you mean helm.sh/depends-on/layers?",
		{"helm.sh/readines-success", "[]"}:                                                    "did you mean helm.sh/readiness-success?",
		{"helm.sh/chart", "shop-1.0.0"}:                                                       "",
		{"argocd.argoproj.io/syncwave", "1"}:                                                  "did you mean argocd.argoproj.io/sync-wave?",
		{"kapp.k14s.io/change-rules", "upsert after upserting a"}:                             "did you mean kapp.k14s.io/change-rule?",
		{"config.kubernetes.io/depend-on", "/Pod/a"}:                                          "did you mean config.kubernetes.io/depends-on?",
		{"example.com/prune", "disabled"}:                                                     "",
	} {
		found := CheckTools([]object.Meta{{Annotations: map[string]string{text[0]: text[1]}}})
		if want == "" {
			require.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		require.Contains(t, found[0].Message, want)
		require.True(t, found[0].Remark)
	}
	both := CheckTools([]object.Meta{
		{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/force": "enabled"}},
		{Annotations: map[string]string{"kustomize.toolkit.fluxcd.io/force": "enabled"}},
	})
	require.Len(t, both, 1)
	require.Equal(t, []int{0, 1}, both[0].On)
}
