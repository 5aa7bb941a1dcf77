// Package lint has the checks of vet: of a stream, and of the kinds that options name.
//
// It checks the kinds that options name, "Kind" of any group or
// "Kind.group", because a misspelled one would silently have no effect.
//
//	faults, remarks := lint.CheckKinds(resources, options, served)
//
// It also finds faults and doubtful parts of a stream, with or without a plan.
//
//	for _, finding := range lint.Check(resources, ordering.Options{}) {
//		fmt.Println(finding.Problem, finding.Text)
//	}
package lint
