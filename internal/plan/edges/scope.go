package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// scope is a part of the stream that a frame orders independently: one
// application of a stack, or all resources outside applications.
type scope struct {
	application string // "stack/application"; "" outside applications
	parentSet   int    // the set of the application, or -1
	resources   []int  // of the plan
	excluded    []int  // in the same part of the stream, but not part of the plan
}

// scopeOf returns the scope of some resources, given in ascending order.
func (d *Declarations) scopeOf(application string, parentSet int, all []int) scope {
	n, _ := slices.BinarySearch(all, len(d.Resources))
	return scope{application, parentSet, all[:n], all[n:]}
}

// all returns the resources of the scope, planned ones first.
func (s scope) all() []int { return slices.Concat(s.resources, s.excluded) }

// resource returns a resource by its index: planned ones, then excluded ones.
func (d *Declarations) resource(i int) ordering.Resource {
	if d.isPlanned(i) {
		return d.Resources[i]
	}
	return d.ExcludedResources[i-len(d.Resources)]
}

func (d *Declarations) isPlanned(i int) bool { return i < len(d.Resources) }

func (d *Declarations) resourcesAt(indices []int) []ordering.Resource {
	out := make([]ordering.Resource, len(indices))
	for at, i := range indices {
		out[at] = d.resource(i)
	}
	return out
}

// put puts a resource into a set. Dependents of the set wait in the cluster for a
// resource that is not part of the plan.
func (d *Declarations) put(i, set int) {
	if d.isPlanned(i) {
		d.Join(i, set, graph.Hard, graph.Hard)
	} else {
		d.addSetExternal(set, d.resource(i).ID, excludedReason(d.Sets[set]))
	}
}

// title returns the name of a set within the scope.
func (s scope) title(name string) string {
	if s.application == "" {
		return name
	}
	return s.application + " " + name
}

// String describes the scope for use in a sentence.
func (s scope) String() string {
	if s.application == "" {
		return "one stream"
	}
	return "application " + s.application
}

// where returns the scope as the end of a sentence.
func (s scope) where() string {
	if s.application == "" {
		return ""
	}
	return " of application " + s.application
}
