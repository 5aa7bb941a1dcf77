// Package textorder decides the position of each resource in the text of a stamped stream:
// one block for each layer, and resources that no selector matched before the first
// resource that needs them.
//
//	plan := stream.Plan()
//	sorted, reasons := stream.Sort(plan)
package arrange
