// Package sortorder is the decision of the kustomize resource-ordering KEP,
// without any input or output: a list of selectors puts every resource into a
// layer, the earliest match wins, and within a layer the order of kinds
// decides.
//
//	order, err := sortorder.Parse([]byte(`
//	apiVersion: ordapply.dev/v1alpha1
//	kind: SortOrder
//	metadata: {name: platform}
//	sortOrder:
//	- matchAnnotations: {tier: foundation}
//	- matchAnnotations: {tier: data}
//	  timeout: 5m`))
//	placements := order.Place(metas)      // which layer each resource is in
//	sorted := order.Sort(metas, sortorder.Ranks(placements)) // indices of metas, in order
//
// An Order never changes once it is parsed and may be shared.
package sortorder
