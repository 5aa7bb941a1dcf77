package graph_test

import (
	"fmt"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// Of two edges that contradict each other the declared one holds.
func ExampleResolve() {
	declared := graph.NewEdge(0, 1, ordering.Ready, graph.Hard, ordering.Reason{Rule: "layer"})
	inferred := graph.NewEdge(1, 0, ordering.Applied, graph.Helps, ordering.Reason{Rule: "service"})
	resolved := graph.Resolve(2, []graph.Edge{inferred, declared}, func(int32) bool { return false })
	for _, c := range resolved.Dropped {
		fmt.Println("dropped", c.Edge.Why, "because of", c.Path[0].Why)
	}
	rank, _ := graph.New(2, resolved.Kept).Ranks()
	fmt.Println("ranks", rank)
	// Output:
	// dropped service because of layer
	// ranks [0 1]
}
