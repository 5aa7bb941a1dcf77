// Package applyset decides what an apply set (KEP-3659) knows and owns: its id,
// what its parent object promises about where the members are, whose an object
// is, whether one is as it was last applied, and what may be pruned. It is
// pure: objects in, decisions out.
//
//	parent := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}
//	parent.SetID() // "applyset-…-v1"
//
// A parent's promise is widened before the first write and narrowed after the
// last prune, so that whatever happens in between, no member is ever where the
// parent does not say.
package applyset
