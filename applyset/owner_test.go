package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
)

func TestClaimants(t *testing.T) {
	member := func(entries string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: a, labels: {applyset.kubernetes.io/part-of: set}, managedFields: [` + entries + `]}}`
	}
	const label = `{f:metadata: {f:labels: {"f:applyset.kubernetes.io/part-of": {}}}}`
	for entries, want := range map[string][]string{
		`{manager: a, operation: Apply, fieldsV1: ` + label + `}`:                          {"a"},
		`{manager: kubectl-client-side-apply, operation: Update, fieldsV1: ` + label + `}`: {"kubectl-client-side-apply"},
		`{manager: endpointslice-controller, operation: Update, fieldsV1: ` + label + `}`:  nil,
		`{manager: a, operation: Apply, fieldsV1: {f:metadata: {f:labels: {f:x: {}}}}}`:    nil,
	} {
		require.Equal(t, want, applyset.Claimants(parse(t, member(entries))), entries)
	}
}
