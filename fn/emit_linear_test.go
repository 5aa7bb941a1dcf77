package fn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// twoLayers returns an order that emits kpt's annotations, and a stream with n
// resources in each of its two layers.
func twoLayers(t *testing.T, n int, emit string) (*sortorder.Order, []byte) {
	t.Helper()
	order, err := sortorder.Parse([]byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: shop}\n" + emit +
		"sortOrder: [{kind: ConfigMap, layer: first}, {kind: Secret, layer: second}]\n"))
	require.NoError(t, err)
	var stream strings.Builder
	for i := range n {
		for _, kind := range []string{"ConfigMap", "Secret"} {
			fmt.Fprintf(&stream, "apiVersion: v1\nkind: %s\nmetadata:\n  name: resource-%d\n  namespace: shop\n---\n", kind, i)
		}
	}
	return order, []byte(stream.String())
}

// Dependencies are computed once for each layer: twice the resources need about
// twice the allocations.
func TestEmittedDependenciesAreLinear(t *testing.T) {
	allocations := func(n int) float64 {
		order, in := twoLayers(t, n, "emit: [kpt, kapp]\n")
		return testing.AllocsPerRun(1, func() { require.False(t, fn.Processor{Order: order}.Run(in).Findings.Failed()) })
	}
	once, twice := allocations(200), allocations(400)
	t.Logf("%.0f allocations for 200 resources a layer, %.0f for 400: %.1f times", once, twice, twice/once)
	require.Less(t, twice/once, 2.5)
}

// Lists that are too large in total are an error that states their size.
func TestEmittedDependenciesAreBounded(t *testing.T) {
	order, in := twoLayers(t, 2000, "emit: [kpt]\n")
	result := fn.Processor{Order: order}.Run(in)
	require.True(t, result.Findings.Failed())
	require.Contains(t, fmt.Sprint(result.Findings), "config.kubernetes.io/depends-on on 2000 resources would add 154 MiB to the stream; the maximum is 64 MiB")
}
