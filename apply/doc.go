// Package apply carries out a plan on a cluster: server-side apply in gated
// waves, readiness by watch, one honest state for every resource at the end.
//
//	applier := apply.Applier{Cluster: cluster, Events: print}
//	summary, err := applier.Run(ctx, plan, objects)
//
// One loop owns all state. Workers get a request and send back its result;
// watches send back changes; timers send back that they fired. So nothing is
// locked, and what happens next is decided in one place (run.go).
package apply
