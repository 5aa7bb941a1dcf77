// Package kindnames checks the kinds that options name, "Kind" of any group or
// "Kind.group", because a misspelled one would silently have no effect.
//
//	faults, remarks := kindnames.Check(resources, options, served)
package lint
