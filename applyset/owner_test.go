package applyset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

func TestMembershipManagers(t *testing.T) {
	member := func(entries string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: a, labels: {applyset.kubernetes.io/part-of: set}, managedFields: [` + entries + `]}}`
	}
	const label = `{f:metadata: {f:labels: {"f:applyset.kubernetes.io/part-of": {}}}}`
	for entries, want := range map[string][]string{
		`{manager: a, operation: Apply, fieldsV1: ` + label + `}`:                          {"a"},
		`{manager: kubectl-client-side-apply, operation: Update, fieldsV1: ` + label + `}`: {"kubectl-client-side-apply"},
		`{manager: mine, operation: Update, fieldsV1: {f:metadata: {f:annotations: {"f:kubectl.kubernetes.io/last-applied-configuration": {}}, f:labels: {"f:applyset.kubernetes.io/part-of": {}}}}}`: {"mine"},
		`{manager: endpointslice-controller, operation: Update, fieldsV1: ` + label + `}`:                                                                                                             nil,
		`{manager: a, operation: Apply, fieldsV1: {f:metadata: {f:labels: {f:x: {}}}}}`:                                                                                                               nil,
	} {
		require.Equal(t, want, applyset.MembershipManagers(parse(t, member(entries))), entries)
	}
}

// A member is an object that a run of this set wrote, whatever the base of its
// field manager.
func TestClaims(t *testing.T) {
	own := shop().Manager("mine")
	for name, c := range map[string]struct {
		set, manager string
		member       bool
	}{
		"written by the set":         {shop().SetID(), own, true},
		"a copy of kubectl's":        {shop().SetID(), "kubectl", false},
		"written for another set":    {shop().SetID(), "ordapply:AAAAAAAAAAAA", false},
		"written before it had one":  {shop().SetID(), "ordapply", false},
		"says that it is of another": {"applyset-other-v1", own, false},
	} {
		for _, operation := range []string{"Apply", "Update"} { // by an update it joined the set
			live := labelled(t, c.set, c.manager, operation)
			require.Equal(t, c.member, shop().HasMember(live), "%s, %s", name, operation)
			require.Equal(t, []string{c.manager}, applyset.LabelManagers(live), name)
		}
	}
}

// An object has joined a set until it is applied again.
func TestHasJoined(t *testing.T) {
	own := shop().Manager("ordapply")
	require.True(t, applyset.HasJoined(labelled(t, shop().SetID(), own, "Update"), own))
	require.False(t, applyset.HasJoined(labelled(t, shop().SetID(), own, "Apply"), own))
	require.False(t, applyset.HasJoined(labelled(t, shop().SetID(), own, "Update", "Apply"), own))
	require.False(t, applyset.HasJoined(labelled(t, shop().SetID(), "a-controller", "Update"), own), "it copied the label")
	require.False(t, applyset.HasJoined(labelled(t, "applyset-other-v1", own, "Update"), own))
}

// labelled returns an object with the label of a set, which a manager owns by each operation.
func labelled(t *testing.T, set, manager string, operations ...string) *unstructured.Unstructured {
	var entries []string
	for _, operation := range operations {
		entries = append(entries, `{manager: "`+manager+`", operation: `+operation+`, fieldsV1: {f:metadata: {f:labels: {"f:applyset.kubernetes.io/part-of": {}}}}}`)
	}
	return parse(t, `{apiVersion: v1, kind: Service, metadata: {name: a, labels: {applyset.kubernetes.io/part-of: `+set+`}, managedFields: [`+strings.Join(entries, ", ")+`]}}`)
}
