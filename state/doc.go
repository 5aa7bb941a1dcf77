// Package state keeps between runs the apply set (KEP-3659) of a stream, the
// lock of the run that may change it, and its revisions. Package applyset makes
// the decisions; this package reads and writes.
//
//	secret := object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"} // the parent
//	run := state.Run{
//		SetRef:  state.SetRef{Cluster: cluster, Parent: secret, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}},
//		Applier: applier, Plan: plan, Stream: stream,
//		Prune: true, Remover: remove.Remover{Cluster: cluster},
//	}
//	summary, err := run.Do(ctx) // takes the lock, applies, prunes, and records a revision
//
//	opened, err := set.Open(ctx, cluster, run.Kind, secret, false)
//	revisions := history.History{Cluster: cluster, Parent: opened.Parent, Vouchers: opened.Vouchers()}
//	revision, err := revisions.Last(ctx, history.Deployed)
package state
