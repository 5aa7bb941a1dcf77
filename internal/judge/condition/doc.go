// Package condition has the two languages in which a rule asks about an object: CEL and kubectl's
// JSONPath.
//
// It evaluates kubectl's JSONPath on an unstructured object, and comparisons
// such as in Helm's readiness annotations (HIP-0025).
//
//	path, err := condition.ParseJSONPath(`.status.conditions[?(@.type=="Ready")].status`)
//	path.Find(object) // ["True"]
//
// Unlike client-go's package it finds mistakes when it parses, also in filters, and takes
// a part that is missing for no result.
//
// It also compiles and evaluates conditions in CEL, with the limits that keep
// one of them from blocking its caller.
//
//	ready, err := condition.Compile(`self.status.phase == "Bound"`)
//	ok, missing, err := ready.Holds(claim) // false, "field status", nil for an object without a status
package condition
