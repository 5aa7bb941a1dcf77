package ordering_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// BenchmarkBuild plans streams of n resources with 2n edges: applications of a
// Deployment with its ConfigMap, Secret and ServiceAccount, and a custom
// resource, in a hundred Namespaces and ten stamped layers.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 4_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			resources := plancase.ManyApplications(n)
			b.ReportAllocs()
			for b.Loop() {
				plan, err := planner.Build(resources, ordering.Options{})
				require.NoError(b, err)
				b.ReportMetric(float64(countEdges(plan)), "edges")
			}
		})
	}
}

// 50,000 resources with 100,000 edges take under 200 MB, and ten times the
// resources at most twelve times the memory. How long it takes is a benchmark.
func TestFiftyThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped by -short")
	}
	tenth, _ := allocated(t, 5_000)
	whole, edges := allocated(t, 50_000)
	require.GreaterOrEqual(t, edges, 100_000)
	t.Logf("%d edges, %d MB allocated", edges, whole>>20)
	require.Less(t, whole, uint64(200<<20), "bytes allocated")
	require.Less(t, whole, 12*tenth, "bytes allocated, beside a tenth of the resources")
}

// allocated returns the bytes allocated by planning n resources, and the number
// of edges.
func allocated(t *testing.T, n int) (bytes uint64, edges int) {
	t.Helper()
	resources := plancase.ManyApplications(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	plan, err := planner.Build(resources, ordering.Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, plan.Steps, n)
	return after.TotalAlloc - before.TotalAlloc, countEdges(plan)
}

func countEdges(plan *ordering.Plan) int {
	n := 0
	for _, s := range plan.Steps {
		n += len(s.Needs)
	}
	return n
}
