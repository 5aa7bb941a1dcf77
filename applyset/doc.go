// Package applyset implements the rules of apply sets (KEP-3659), or inventories: a
// set's ID, the kinds and namespaces that its parent lists, the owner of an object,
// whether an object is as it was last applied, and its protection from a removal. It is
// pure: it reads and returns objects only.
//
//	parent := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}
//	parent.SetID()                        // "applyset-…-v1", the value of the label on each member
//	manager := parent.Manager("ordapply") // the field manager that applies them
//	if applyset.Prove(desired, live, manager) == applyset.Same {
//		// a server-side apply would change nothing: it need not be sent
//	}
//
// The lists of a parent are extended before the first write and reduced after
// the last prune. So at any time every member is of a listed kind and in a
// listed namespace.
package applyset
