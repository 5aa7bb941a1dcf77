// Package ordering turns a stream of resources into a plan: what each resource
// waits for, why, and in which wave it is applied. It is pure: it uses no
// cluster, clock or file, and the same resources in any order give the same
// plan.
//
// An edge means "B needs A". It has a reason and a gate: A is applied, or A is
// ready. Layers, which a SortOrder stamps on resources, are hard edges between
// sets. References between manifests, such as from a Deployment to its
// ConfigMap, are soft edges. The wave of a resource is its rank over all edges:
// a ready edge or a layer boundary adds one, an applied edge adds nothing.
//
//	plan, err := ordering.Build(resources, ordering.Options{})
//	if err != nil {
//		return err // everything that is wrong, with a *CycleError for each cycle
//	}
//	for _, step := range plan.Steps {
//		fmt.Println(step.Wave, step.ID, step.Needs)
//	}
//
// DeletionOrder plans a deletion, and Arrange the order of a text.
package ordering
