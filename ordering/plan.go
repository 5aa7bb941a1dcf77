package ordering

import (
	"time"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/object"
)

// Plan is the order in which resources are applied, as data.
//
// A scheduler that starts each resource as early as its own needs allow reads
// Steps and Layers: a step may start when all its Needs are met and all layers
// of its After are done. A layer is done when all layers of its own After and
// all layers Within it are done, and every step that lists it in Layers has
// passed its gate. A scheduler that goes wave by wave reads Waves; a step's
// needs within its own wave all have gate Applied.
type Plan struct {
	Steps  []Step  // sorted by wave, then by ID
	Waves  []Wave  // in the order in which they open
	Layers []Layer // referred to by index
	// OrderSource is where the order of the resources came from.
	OrderSource OrderSource
	// Skipped are the resources that are not part of an apply, sorted by ID.
	Skipped []Skipped
	// Dropped are the inferred edges that could not be kept, by dependent.
	Dropped []Dropped
	// Hooks run around the plan, listed event by event in the order in which
	// they run. They are not steps.
	Hooks []PlannedHook
	// Notes are remarks for display.
	Notes []string
}

// PlannedHook is a Helm hook that runs on an event.
type PlannedHook struct {
	Event  string // "pre-install"
	ID     object.ID
	Source string // position of its manifest; "" if unknown
	Weight int    // helm.sh/hook-weight; within an event lower ones run first
}

// Step is one resource of the plan.
type Step struct {
	ID     object.ID // unique in the plan
	Source string    // position of its manifest; "" if unknown
	Wave   int       // index into Plan.Waves
	// ReadyBy is the wave whose gate waits for the resource: its own wave, or a
	// later one if the resource is applied before something that it needs to
	// become ready.
	ReadyBy int
	// Layer is the name of the layer that placed the resource; "" if none.
	Layer string
	// Gate is what waves and later layers wait for. Another step's Need may
	// require more.
	Gate graph.Gate
	// Timeout limits how long the resource may take to become ready; 0 if its
	// kind has no timeout of its own.
	Timeout time.Duration
	// Needs are the resources of the plan that the step waits for.
	Needs []Need
	// After are the layers that the step waits for, as indices into
	// Plan.Layers. The slice is shared between steps.
	After []Barrier
	// Layers are the layers that wait for the step, as indices into
	// Plan.Layers. Layers around these are not listed.
	Layers []int
	// External are resources outside the plan that the step waits for.
	External []Need
	// ProvidedBy are the resources of the plan that make its kind available: its
	// CRD, or a resource with ProvidesAnnotation.
	ProvidedBy []object.ID
	// Why is the reason for the resource's wave.
	Why graph.Reason
}

// PlacedByDependents reports whether nothing placed the resource, so that it joins the wave
// of its first dependent.
func (s Step) PlacedByDependents() bool { return s.Why.Rule == graph.RuleNeeded }

// Layer is a set of resources that others wait for as a whole.
type Layer struct {
	Name    string        // "platform/data", "Sync wave 2", "stack storage"
	Kind    LayerKind     // where it comes from
	Within  int           // index of the layer around it, such as an application's stack; -1 if none
	Gate    graph.Gate    // what dependents wait for, for each of its resources
	After   []Barrier     // the layers that all of its resources wait for
	Timeout time.Duration // how long it may take; 0 if not set
}

// Wave is a set of resources between two gates.
type Wave struct {
	// Name joins the names of the wave's layers, in order; it is
	// "prerequisites" for CRDs and Namespaces that nothing else placed.
	Name string
	// Timeout is the longest timeout of the wave's layers; 0 if none has one.
	Timeout time.Duration
}

// Dropped is an inferred edge that contradicts other edges.
type Dropped struct {
	ID   object.ID // the dependent
	Need Need      // the edge
	// Because is the path by which the dependency waits for the dependent.
	Because []CycleEdge
}
