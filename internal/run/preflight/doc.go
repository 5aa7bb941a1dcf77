// Package preflight has the checks of a run before its first write: it finds the errors
// that the run is known to meet.
//
//	checks := preflight.Checks{Cluster: cluster, Reader: reader, Plan: plan, KindTimeout: 30 * time.Second}
//	checks.Each(ctx, func(step int) bool { return ended[step] }, fail)
package preflight
