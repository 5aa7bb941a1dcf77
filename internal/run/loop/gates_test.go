package loop

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
)

// 0 before 1 (ready), 1 before 2 (applied), 0 before 3 (applied).
func chain() *Graph {
	g := NewGraph(4)
	g.Add(0, Edge{To: 1, Gate: ordering.Ready})
	g.Add(1, Edge{To: 2, Gate: ordering.Applied})
	g.Add(0, Edge{To: 3, Gate: ordering.Applied})
	return g
}

func TestReleaseReportsTheLastWaitOnce(t *testing.T) {
	g := chain()
	g.Hold(1)
	require.False(t, g.Release(1))
	require.True(t, g.Release(1))
	require.False(t, g.Release(1), "it has started already")
}

func TestDependentsAreNearestFirst(t *testing.T) {
	require.Equal(t, []int{1, 3, 2}, chain().Dependents(0))
	require.True(t, chain().HoldsUntil(0, ordering.Ready))
	require.False(t, chain().HoldsUntil(1, ordering.Ready))
}

func TestEachBlocked(t *testing.T) {
	blocked := func(applied, descend bool) (nodes []int) {
		chain().EachBlocked(0, func(g ordering.Gate) bool { return applied && g == ordering.Applied }, func(n int) bool {
			nodes = append(nodes, n)
			return descend
		})
		return nodes
	}
	require.Equal(t, []int{1, 2, 3}, blocked(false, true))
	require.Equal(t, []int{1, 2}, blocked(true, true), "what waited only for it to be applied can start")
	require.Equal(t, []int{1, 3}, blocked(false, false))
}

func TestDrainStartsWhatAStartAddsBeforeTheNext(t *testing.T) {
	var q Queue
	q.Add(1)
	q.Add(2)
	var started []int
	q.Drain(func(n int) {
		if started = append(started, n); n == 1 {
			q.Add(10)
			q.Add(11)
		}
	})
	require.Equal(t, []int{1, 10, 11, 2}, started)
	q.Drain(func(n int) { require.Fail(t, "started again", n) })
}

// With a copy of the rest for each start, this benchmark's time is not linear in its number.
func BenchmarkDrain(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var q Queue
				for node := range n {
					q.Add(node)
				}
				q.Drain(func(int) {})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

func TestYieldLetsGoOnlyOfWhatMay(t *testing.T) {
	g := chain()
	g.Add(0, Edge{To: 2, Gate: ordering.Ready, Yields: true})
	require.False(t, g.Release(2))
	require.Equal(t, []Edge{{To: 2, Gate: ordering.Ready, Yields: true}}, g.Yield(0, NoGate))
	require.True(t, g.Release(2))
	require.Equal(t, []Edge{{To: 1, Gate: ordering.Ready}, {To: 3, Gate: ordering.Applied}}, g.From(0))
	require.Empty(t, g.Yield(0, NoGate))
}
