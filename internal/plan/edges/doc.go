// Package edges has the edges of a stream: declared, inferred, and their contradictions.
//
// ReadDeclared reads declarations about the order of a stream: annotations of
// ordapply, cli-utils and kapp, stamps, Argo CD's waves or Helm's groups, charts
// and stacks. It does not read references between manifests.
//
//	d := edges.ReadDeclared(references.NewIndex(resources, nil), ordering.Options{}, nil)
//	d.Edges                     // "web needs db", from depends-on
//	d.Sets[d.LayerOf[i]].Name   // "shop/data", the layer of resource i
//	d.Sets[d.LayerOf[i]].After  // the layers that it waits for
//
// Find adds edges inferred from references between manifests, and places resources
// that no layer placed. Where edges contradict each other, the weaker one is dropped,
// or the stream is refused with the path that contradicts it.
//
//	d, err := edges.Find(resources, ordering.Options{})
//	d.Kept    // the edges, between resources and the entries and exits of layers
//	d.Dropped // inferred edges, each with the path that contradicts it
package edges
