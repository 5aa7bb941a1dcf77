// Package graph has the dependency graph: edges with a gate and a reason,
// ranks, cycles, and the choice between contradicting edges.
//
// A vertex is a number. An edge means that its target waits for its source:
//
//	web := graph.NewEdge(secret, deployment, ordering.Applied, graph.Required, why)
//	resolved := graph.Resolve(2, []graph.Edge{web}, func(int32) bool { return false })
//	rank, order := graph.New(2, resolved.Kept).Ranks()
package graph
