// Package fn carries a SortOrder into manifests: it reads a ResourceList or a
// plain stream of YAML documents, asks package sortorder where every resource
// belongs, sorts the resources and writes the decision on them as annotations
// (package ordering has the contract). The annotations are what counts: kustomize
// puts the resources of a function back where they were, kpt writes them back
// into their files.
//
//	order, err := sortorder.Parse(config)
//	out := fn.Function{Order: order}.Run(stream)
//	if out.Findings.Failed() { ... }
//	out.WriteTo(os.Stdout)
//
// A ResourceList of the KRM functions SDK goes through Function.Process. The
// SDK's AsMain, Run and ToYAML sort by name when they print: a program built on
// these keeps the stamps, not the order of the text.
//
// For resources in memory, Decider returns the annotations alone.
package fn
