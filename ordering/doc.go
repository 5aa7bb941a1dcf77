// Package ordering has the types of a plan as plain data. The input is a Resource for
// each manifest, and Options. The Plan has the steps, waves and layers in which resources
// are applied, and the reason for each; a Deletion has the order in which they are
// deleted. Package ordering/planner makes both.
//
// An edge means "B needs A". It has a Reason and a Gate: A is applied, or A is
// ready. Layers, which a SortOrder stamps on resources, are hard edges between
// sets. References between manifests, such as from a Deployment to its
// ConfigMap, are soft edges. The wave of a resource is its rank over all edges:
// a ready edge or a layer boundary adds one, an applied edge adds nothing.
//
//	plan, err := planner.Build(resources, ordering.Options{})
//	if err != nil {
//		return err // everything that is wrong, with a *CycleError for each cycle
//	}
//	for _, step := range plan.Steps {
//		fmt.Println(step.Wave, step.ID, step.Needs)
//	}
package ordering
