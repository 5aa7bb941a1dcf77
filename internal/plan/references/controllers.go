package references

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// ControllersOf returns a function that lists what makes a resource ready, as far as no edge
// says so: for a custom resource or a Service of type LoadBalancer the workloads whose
// ServiceAccount may write its kind, and for a webhook configuration those that it needs,
// and that inject its CA bundle. edges are those of the stream.
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
