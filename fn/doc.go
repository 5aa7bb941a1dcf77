// Package fn applies a SortOrder to manifests: it reads a ResourceList or a
// stream of YAML documents, places every resource with package sortorder, sorts
// the resources and stamps the decision on them as annotations. Only the
// annotations are reliable: kustomize restores the
// position of a function's resources, and kpt writes them back into their files.
//
//	order, err := sortorder.Parse(config)
//	out := fn.Processor{Order: order}.Run(stream)
//	if out.Findings.Failed() {
//		return out.Findings.Err() // the stream is empty, or the list unchanged
//	}
//	_, err = out.WriteTo(os.Stdout)
//
// Planner.Plan returns the annotations for resources in memory, without YAML.
// Processor.Process does the same to a ResourceList of the KRM functions SDK.
package fn
