package fn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// TestDependsOnThatDoesNotFit checks that a list of layer times layer is an
// error here, not only at the API server.
func TestDependsOnThatDoesNotFit(t *testing.T) {
	order, err := sortorder.Parse([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, emit: [kpt],
	  sortOrder: [{kind: Secret, layer: first}, {unmatched: true}]}`))
	require.NoError(t, err)
	metas := []object.Meta{{ID: object.ID{Kind: "Service", Name: "web"}}}
	for i := range 4_000 {
		metas = append(metas, object.Meta{ID: object.ID{Kind: "Secret", Namespace: "namespace", Name: fmt.Sprintf("secret-%d", i)}})
	}
	decision := Planner{Order: order}.Plan(metas)
	require.Equal(t, "error: Service web: would get a config.kubernetes.io/depends-on of 159 KiB, on 4000 resources; "+
		"the maximum is 128 KiB: make smaller layers, or remove kpt from emit\n", decision.Findings.Lines())
}
