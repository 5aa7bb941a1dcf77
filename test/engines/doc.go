// Package engines runs the controllers of Flux and of Argo CD as processes beside a real
// control plane, to prove that they keep the order of what `ordapply export` writes. Its
// tests start them, publish an exported tree, and read from the API server's audit log
// when each resource was written first and when it was ready.
//
//	flux := engines.StartFlux(t, cluster)
//	flux.Publish(t, tree, "shop")
//	broken := engines.ReadGates(t, cluster, plan, flux.Agents()).Broken()
package engines
