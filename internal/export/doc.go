// Package export is the verb export: it writes a stream as a tree for another engine, or
// lists the files of a tree that an export would change.
//
//	root.AddCommand(export.NewCommand(c))
package export
