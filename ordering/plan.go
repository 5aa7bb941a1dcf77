package ordering

import (
	"time"

	"github.com/ordapply/ordapply/object"
)

// Resource is what planning reads of one manifest. ID holds the namespace that
// the resource will really have; Object is the whole manifest and is never
// written.
type Resource struct {
	object.Meta
	Object map[string]any
	// Source is where the manifest stood, for messages: "app.yaml, document 2
	// (line 14)"; "" when nobody knows.
	Source string
	// Chart is the path of the Helm chart that it was rendered from, as the
	// "# Source:" comments of `helm template` begin: "foo/charts/bar"; "" when
	// nobody knows.
	Chart string
	// Formerly is a name that others may still use for it while a build goes on, as
	// further resources may have had it, too; "" where there is none. It is meant by
	// those of its Family, which were renamed together; where that does not decide,
	// all that had the name are.
	Formerly string
	Family   string
}

// Plan is what will be done, as data, before anything is done.
//
// A scheduler that starts each resource as early as its own needs allow reads
// Steps and Layers: a step may start when all its Needs are met and all layers
// of its After are done. A layer is done when all layers of its own After and
// all layers Within it are done, and every step that lists it in Layers has
// passed its gate. A scheduler that goes wave by wave reads
// Waves; what a step needs of its own wave are applied edges alone.
type Plan struct {
	Steps  []Step // sorted by wave, then by ID
	Waves  []Wave
	Layers []Layer
	// Frame is what placed the resources.
	Frame Frame
	// Skipped are the resources that are no part of an apply, by ID.
	Skipped []Skipped
	// Dropped are the inferred edges that could not be kept, by who needed.
	Dropped []Dropped
	// Hooks are what runs around the plan, event by event in the order in which it
	// runs. They are no steps.
	Hooks []PlannedHook
	// Notes are remarks for people.
	Notes []string
}

// PlannedHook is a Helm hook that runs at an event.
type PlannedHook struct {
	Event  string // "pre-install"
	ID     object.ID
	Source string // where its manifest stood; "" when nobody knows
	Weight int
}

// Step is one resource of the plan.
type Step struct {
	ID     object.ID
	Source string // where its manifest stood; "" when nobody knows
	Wave   int    // index into Plan.Waves
	// ReadyBy is the wave whose gate waits for the resource: its own, or a
	// later one when the resource goes out before something that it needs to
	// become ready.
	ReadyBy int
	// Layer names the layer that placed the resource; "" when none did.
	Layer string
	// Gate is what waves, and the layers after its own, wait for of this
	// resource. Another step may need more of it.
	Gate Gate
	// Timeout is how long a resource of this kind may take; 0: nobody said.
	Timeout time.Duration
	// Needs are the single resources of the plan that it waits for.
	Needs []Need
	// After are the layers that it waits for, as indices into Plan.Layers. The
	// slice is shared between steps.
	After []Barrier
	// Layers are the layers that wait for it, as indices into Plan.Layers. A
	// layer around one of these is not listed.
	Layers []int
	// External are resources outside the plan that it waits for.
	External []Need
	// MadeBy are the resources of the plan that bring its kind into the
	// cluster: its CustomResourceDefinition, or what promises to make it.
	MadeBy []object.ID
	// Why says what put the resource into its wave.
	Why Reason
}

// floats is the rule of what goes out with the first of those that need it.
const floats = "needed"

// Floats reports whether no selector placed the resource, so that it goes out with
// the first of those that need it.
func (s Step) Floats() bool { return s.Why.Rule == floats }

// Need is one edge to a single resource, seen from who waits.
type Need struct {
	ID   object.ID // what is waited for
	Gate Gate
	Why  Reason
	// Hard tells what the author declared from what was inferred.
	Hard bool
}

// Barrier is one edge to a whole layer, seen from who waits: every resource of
// the layer must have passed its gate.
type Barrier struct {
	Layer int // index into Plan.Layers
	Why   Reason
}

// Layer is a set of resources that is waited for as one.
type Layer struct {
	Name    string // "platform/data", "Sync wave 2", "stack storage"
	Kind    LayerKind
	Within  int  // index of the layer around it, such as an application's stack; -1
	Gate    Gate // what is waited for of each of its resources
	After   []Barrier
	Timeout time.Duration // how long it may take; 0: nobody said
}

// LayerKind says what made a layer.
type LayerKind string

// The kinds of layers.
const (
	Prerequisites LayerKind = "prerequisites" // CRDs and Namespaces that nothing else placed
	Stamped       LayerKind = "layer"         // by a SortOrder's stamps
	ArgoWave      LayerKind = "argocd"        // a phase and wave of Argo CD
	HelmGroup     LayerKind = "helm"          // a group of a chart, or its resources without group
	HelmChart     LayerKind = "chart"         // a chart with its subcharts, or its own resources
	StackLayer    LayerKind = "stack"
	Application   LayerKind = "application" // of a stack
	ChangeGroup   LayerKind = "kapp"        // a change group of kapp
	Everything    LayerKind = "all"         // all that a frame placed
)

// Reason says where an edge or a place comes from: the rule by its name, and
// what in the manifests made it apply.
type Reason struct {
	Rule   string // for example "pod-template", "layer", "prerequisite"
	Detail string // for example `env DB_PASSWORD`, `layer data after foundation`
	Where  string // where that is written, as Resource.Source; "" when it follows from more than one place
}

// String is the reason as people read it, without the place.
func (r Reason) String() string {
	if r.Detail == "" {
		return r.Rule
	}
	return r.Rule + ": " + r.Detail
}

// Located is the reason with the place where it is written.
func (r Reason) Located() string {
	if r.Where == "" {
		return r.String()
	}
	return r.String() + "; " + r.Where
}

// Wave is a set of resources between two gates.
type Wave struct {
	// Name joins the layers that the wave holds, in their order; it is
	// "prerequisites" for CRDs and Namespaces that no selector placed.
	Name string
	// Timeout is the longest that a layer of this wave asked for; 0 means that
	// none did.
	Timeout time.Duration
}

// Skipped is a resource that is no part of an apply.
type Skipped struct {
	ID  object.ID
	Why Reason
}

// Dropped is an inferred edge that contradicts others.
type Dropped struct {
	ID   object.ID // who needs
	Need Need
	// Because is the road by which what is needed waits for who needs it.
	Because []CycleEdge
}
