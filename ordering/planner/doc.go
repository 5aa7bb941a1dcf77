// Package planner turns a stream of resources into a plan: the needs of each
// resource, why, and in which wave it is applied. It is pure: it uses no
// cluster, clock or file, and the same resources in any order give the same
// plan. Its types are those of package ordering.
//
//	plan, err := planner.Build(resources, ordering.Options{})
//	if err != nil {
//		return err // everything that is wrong, with a *ordering.CycleError for each cycle
//	}
//	err = plan.WriteText(os.Stdout)
//
// DeletionOrder plans a deletion, and Arrange the order of a text.
package planner
