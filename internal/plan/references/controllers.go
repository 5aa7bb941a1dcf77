package references

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// ControllersOf returns a function that lists the workloads that make a resource ready
// without an edge: for a custom resource or a Service of type LoadBalancer, if their
// ServiceAccount may write its kind; for a webhook configuration, if it needs them or they
// inject its CA bundle. edges are the stream's.
func (ix *Index) ControllersOf(edges []graph.Edge) func(resource int) []int {
	f := newWebhookDependencies(ix, [][]graph.Edge{edges})
	return func(i int) []int {
		switch r := ix.Resources[i]; {
		case isWebhookConfiguration(r.ID):
			var out []int
			for needed, is := range f.of(i) {
				if is && PodSpec(ix.Resources[needed].Object) != nil {
					out = append(out, needed)
				}
			}
			return out
		case IsLoadBalancer(r):
			return slices.Clone(f.writersOf("", "services"))
		case ix.IsCustom(r.ID):
			return slices.Clone(f.writersOf(r.Group, ix.plural(r.ID)))
		}
		return nil
	}
}

// IsLoadBalancer reports whether a resource is a Service that is ready only when a
// controller has given it an address.
func IsLoadBalancer(r ordering.Resource) bool {
	return r.GroupKind() == "Service" && String(r.Object, "spec", "type") == "LoadBalancer"
}
