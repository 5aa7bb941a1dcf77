package ordering

import (
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
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
	// OrderIgnored is set in the result of Unordered: all resources are in one wave.
	OrderIgnored bool
	// Skipped are the resources that are not part of an apply, sorted by ID.
	Skipped []Skipped
	// Dropped are the inferred edges that could not be kept, by dependent.
	Dropped []Dropped
	// Hooks run around the plan, or within it, listed event by event in the order in which
	// they run. They are not steps.
	Hooks []PlannedHook
	// Notes are remarks for display.
	Notes []string
}

// PlannedHook is a hook of Helm or Argo CD that runs on an event.
type PlannedHook struct {
	Event  string // "pre-install"
	ID     object.ID
	Source string // position of its manifest; "" if unknown
	Weight int    // helm.sh/hook-weight, or the wave of Argo CD; within an event lower ones run first
	// Within is set for one that runs with the resources of a wave. Wave is that wave, and
	// ReadyBy the last wave that opens before the hook has ended, as indices into Plan.Waves.
	Within        bool
	Wave, ReadyBy int
}

// Step is one resource of the plan.
type Step struct {
	ID     object.ID // unique in the plan
	Source string    // position of its manifest; "" if unknown
	Wave   int       // index into Plan.Waves
	// Due is the wave in which the resource becomes ready: its own, or a later one if the
	// resource is applied before something that it needs for that.
	Due int
	// ReadyBy is the last wave that opens before the resource has passed its gate: no resource
	// of a wave up to it waits for that. It is not before Due.
	ReadyBy int
	// Layer is the name of the layer that placed the resource; "" if none.
	Layer string
	// Gate is the gate before later waves and layers. Another step's Need may
	// require more.
	Gate Gate
	// AfterHooks is set if only a hook that runs after the plan can make the resource ready:
	// a webhook configuration whose CA bundle it writes, a StatefulSet whose Pods it makes a cluster.
	AfterHooks bool
	// FailsOpen is set for a webhook configuration without which all requests pass: the run
	// does not fail if it never becomes ready.
	FailsOpen bool
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
	// CRD, or a resource that has ProvidesAnnotation.
	ProvidedBy []object.ID
	// Why is the reason for the resource's wave.
	Why Reason
	// Refused is why the API server cannot take the resource, as far as the stream shows it:
	// its own CRD does not serve the version. Resources with the same cause share the error.
	Refused error
}

// Err joins the errors of the steps that cannot be applied, one for each cause; nil if there
// are none. The rest of the plan holds without them.
func (p *Plan) Err() error {
	var errs []error
	alike := map[error][]Step{}
	for _, s := range p.Steps {
		if s.Refused != nil {
			alike[s.Refused] = append(alike[s.Refused], s)
		}
	}
	for _, s := range p.Steps {
		same := alike[s.Refused]
		if len(same) == 0 || same[0].ID != s.ID {
			continue
		}
		who := Resource{Meta: object.Meta{ID: s.ID}, Source: s.Source}.Located()
		if more := len(same) - 1; more > 0 {
			who += " and " + plain.Count(more, "other")
		}
		errs = append(errs, fmt.Errorf("%s: %w", who, s.Refused))
	}
	return errors.Join(errs...)
}

// PlacedByDependents reports whether nothing placed the resource, so that it joins the wave
// of its first dependent. Without a dependent it waits for no layer.
func (s Step) PlacedByDependents() bool { return s.Why.Rule == RuleNeeded }

// Need is an edge to a resource, as seen by its dependent.
type Need struct {
	ID   object.ID // the resource waited for
	Gate Gate      // the state that it must reach
	Why  Reason    // its cause in the manifests
	// Hard reports whether the author declared the edge; otherwise it was
	// inferred.
	Hard bool
	// Yields reports whether a run may let go of the edge when nothing moves any more,
	// because the cluster itself would retry the dependent.
	Yields bool
}

// Barrier is an edge to a whole layer, as seen by a dependent: every resource
// of the layer must have passed its gate.
type Barrier struct {
	Layer int    // index into Plan.Layers
	Why   Reason // why the layer waits, such as "layer data after foundation"
}

// Layer is a set of resources that others wait for as a whole.
type Layer struct {
	Name    string        // "platform/data", "Sync wave 2", "stack storage"
	Kind    LayerKind     // where it comes from
	Within  int           // index of the layer around it, such as an application's stack; -1 if none
	Gate    Gate          // that each of its resources must pass
	After   []Barrier     // the layers that all of its resources wait for
	Timeout time.Duration // how long it may take; 0 if not set
}

// LayerKind says where a layer comes from.
type LayerKind string

// Values of LayerKind.
const (
	Prerequisites LayerKind = "prerequisites" // CRDs and Namespaces that nothing else placed
	Stamped       LayerKind = "layer"         // by a SortOrder's stamps
	ArgoWave      LayerKind = "argocd"        // a phase and wave of Argo CD
	HelmGroup     LayerKind = "helm"          // a group of a chart (HIP-0025), or its resources without a group
	HelmChart     LayerKind = "chart"         // a chart with its subcharts, or only its own resources
	StackLayer    LayerKind = "stack"         // a stack of applications (RFC-DEPLOY-0001)
	Application   LayerKind = "application"   // of a stack
	ChangeGroup   LayerKind = "kapp"          // a change group of kapp
	AllPlaced     LayerKind = "all"           // all placed resources
)

// Unsequenced names the HelmGroup of a chart's resources without a group, after the name
// of the chart if that has one: "web unsequenced".
const Unsequenced = "unsequenced"

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

// Skipped is a resource of the stream that is not part of an apply, such as a hook.
type Skipped struct {
	ID  object.ID // of the resource
	Why Reason    // why it is left out
}
