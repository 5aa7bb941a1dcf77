// Package engines runs the controllers of Flux and of Argo CD as processes beside a real
// control plane, to prove that they keep the order of a tree of `ordapply export`. Its
// tests start them, publish an exported tree, and read from the API server's audit log when
// each resource was written first and when it was ready.
//
//	flux := engines.StartFlux(t, cluster)
//	flux.Publish(t, tree, "shop")
//	proof, err := engines.Prove(plan, cluster.AuditLog(), 0, flux.Agent())
package engines
