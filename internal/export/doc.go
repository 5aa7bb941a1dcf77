// Package export is the verb export: it writes a stream as a tree for another engine, and compares
// a tree with one that was written.
//
// It finds what of an exported tree no longer matches the order: which gate an
// edit has opened, which resource is in another layer, which manifest differs.
//
//	export.Find(wanted, found)[0].String()
//	// flux/kustomizations.yaml: Kustomization shop-web no longer depends on shop-data: ...
//
//	root.AddCommand(export.NewCommand())
package export
