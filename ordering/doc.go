// Package ordering turns a stream of resources into a plan: which resource
// waits for which, why, and in which wave each is applied. It is pure: no
// cluster, clock or file; the same resources in any order give the same plan.
//
// The terms. An edge says "B needs A", with a gate (A applied, or A ready) and
// a reason. Layers, stamped on resources by a SortOrder, are hard edges
// between sets. References that manifests make to each other (a Deployment to
// its ConfigMap) are soft edges. A wave is the rank of a resource over all
// edges: a ready edge or a layer boundary counts one, an applied edge nothing.
//
//	plan, err := ordering.Build(resources, ordering.Options{})
//	for _, step := range plan.Steps {
//		fmt.Println(step.Wave, step.ID, step.Needs)
//	}
package ordering
