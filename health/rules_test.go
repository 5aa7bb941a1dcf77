package health

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestBuiltinRulesAreARulesFile(t *testing.T) {
	rules, err := ParseRules(builtinFile)
	require.NoError(t, err)
	for i, r := range rules.rules {
		require.NotNil(t, r.Group, "%s: a built-in rule is for a group", r.name)
		require.True(t, strings.HasPrefix(r.Source, "https://"), "%s: a built-in rule says where its project documents that status", r.name)
		for _, before := range rules.rules[:i] {
			covered := glob(*before.Group, *r.Group) && glob(before.Kind, r.Kind)
			require.False(t, covered, "rule %s never speaks: %s is before it", r.name, before.name)
		}
	}
}

// The result of compiled rules does not depend on the order of their first use.
func TestBuiltinRulesAreCompiledOnce(t *testing.T) {
	require.Same(t, builtin(), builtin())
	first, err := builtin().rules[0].compiled()
	require.NoError(t, err)
	second, err := builtin().rules[0].compiled()
	require.NoError(t, err)
	require.Same(t, first[0].Condition, second[0].Condition)
}

func TestNilCustomizationsHaveNoChecks(t *testing.T) {
	var none *Customizations
	require.Zero(t, none.Len())
	require.Equal(t, "exists", (&Assessor{ArgoCD: none}).Assess(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}).Rule)
}
