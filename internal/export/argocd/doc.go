// Package argocd writes a stream as Argo CD's Applications, with their health checks.
//
// It writes conditions in CEL as health checks in Lua, as Argo CD reads them
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#custom-health-checks).
//
//	script, err := argocd.LuaScript([]argocd.LuaCheck{{Ready: `self.status.phase == "Up"`}})
//
// As with CEL, a condition that reads a missing field does not hold, unless another
// alternative does. A script that changes the case of texts needs Lua's string library,
// which Argo CD opens on request: see LuaNeedsLibraries.
//
// It also exports a stream as a tree that Argo CD syncs in the stream's order: as
// one Application with sync waves, as an Application for each layer, or as an
// ApplicationSet that syncs one layer after the other, or one cohort of a fleet.
//
//	tree, err := argocd.Export(stream, argocd.Options{Name: "shop", Form: argocd.OneApplication})
//	tree.Files["argocd/application.yaml"]
package argocd
