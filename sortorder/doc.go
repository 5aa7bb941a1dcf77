// Package sortorder implements the decisions of the kustomize resource-ordering
// KEP, without input or output: a list of selectors puts every resource into a
// layer, the first match wins, and within a layer resources are sorted by kind.
// It reads metadata only. Package fn applies an order to manifests.
//
//	order, err := sortorder.Parse([]byte(`
//	apiVersion: ordapply.dev/v1alpha1
//	kind: SortOrder
//	metadata: {name: platform}
//	sortOrder:
//	- matchAnnotations: {tier: foundation}
//	- matchAnnotations: {tier: data}
//	  timeout: 5m`))
//	placements := order.Place(metas)                         // the layer of each resource
//	sorted := order.Sort(metas, sortorder.Ranks(placements)) // indices of metas, in order
//
// Methods of an Order do not change it and are safe for concurrent use.
package sortorder
