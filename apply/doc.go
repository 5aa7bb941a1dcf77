// Package apply executes a plan on a cluster. It sends server-side applies in
// waves, waits for readiness by watches, and gives every resource exactly one
// final state.
//
//	cluster, err := kube.Connect(config)
//	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop", Kind: cluster.Kind})
//	plan, err := stream.Plan(ordering.Options{})
//	applier := apply.Applier{Cluster: cluster, Events: print}
//	preview, err := applier.Preview(ctx, plan, stream.Objects) // writes nothing
//	summary, err := applier.Run(ctx, plan, stream.Objects)
//
// Remover deletes live objects in the order of an ordering.Deletion. Package
// state runs both under the lock of an apply set, with a history.
//
// One loop owns all state. Workers receive requests and send back results,
// watches send changes, timers send that they fired. So nothing is locked,
// and one goroutine makes every decision (internal/loop).
package apply
