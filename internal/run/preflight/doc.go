// Package preflight has the checks before the first write.
//
// It turns manifests into a set that can be planned: it resolves their
// namespaces, and rejects two objects with one ID. Package apply has its API under the same
// names.
//
//	s, err := preflight.NewStream(preflight.Inputs(manifests), preflight.Scope{Namespace: "shop", Kind: cluster.Kind})
//	plan, err := s.Plan(ordering.Options{})
//
// It also finds the errors that a run is known to meet, before it writes anything.
//
//	checks := preflight.Checks{Cluster: cluster, Reader: reader, Plan: plan, KindTimeout: 30 * time.Second}
//	checks.Each(ctx, func(step int) bool { return ended[step] }, fail)
package preflight
