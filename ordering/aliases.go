package ordering

import (
	"github.com/ordapply/ordapply/internal/plan/edges"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
)

// Gate is the state that a dependency must reach before its dependent is
// applied: Ready, or Applied. Its text is that of annotations and configuration.
type Gate = graph.Gate

// Values of Gate.
const (
	// Ready waits until the dependency is ready; for a CRD, until the API
	// server serves its kind.
	Ready = graph.Ready
	// Started waits until the Pods of the dependency exist, ready or not.
	Started = graph.Started
	// Applied waits until the API server has accepted the dependency.
	Applied = graph.Applied
)

// Reason explains an edge or a place: the rule that applied, and the part of
// the manifests that triggered it. It is for people; nothing depends on Detail.
type Reason = graph.Reason

// Rule names what made an edge or a place, such as "pod-template" or "layer".
type Rule = graph.Rule

// Rules that decide how a step or a need is treated.
const (
	RulePrerequisite = graph.RulePrerequisite // a CRD, a Namespace or a prerequisite kind goes first
	RuleExcluded     = graph.RuleExcluded     // a selection leaves the resource of the stream out
	RuleExternal     = graph.RuleExternal     // an application lists the resource as external
	RuleMutation     = graph.RuleMutation     // a resource takes values of another
)

// ParseGate parses "ready" or "applied"; anything else, also "", is an error.
func ParseGate(s string) (Gate, error) { return graph.ParseGate(s) }

// Resource is the input of planning, read from one manifest: its ID, labels and
// annotations in Meta, the whole manifest in Object, and where it is from in Source and
// Chart.
type Resource = references.Resource

// Condition evaluates a CEL expression over variables. known is false if the
// expression cannot be evaluated, for example because it uses other variables.
type Condition = references.Condition

// Options configure how a plan is built. The zero value is the documented default.
type Options = edges.Options

// KindTimeout limits how long a resource of a kind may take to become ready.
type KindTimeout = edges.KindTimeout

// OrderSource selects where the order of a stream comes from.
type OrderSource = edges.OrderSource

// Values of OrderSource. What places no resource leaves only the edges and the prerequisites.
const (
	OrderSourceAuto   = edges.OrderSourceAuto   // stamps if any resource has them, else the only frame whose annotations are in the stream
	OrderSourceStamps = edges.OrderSourceStamps // a SortOrder's annotations
	OrderSourceArgoCD = edges.OrderSourceArgoCD // Argo CD's phases and waves
	OrderSourceHelm   = edges.OrderSourceHelm   // groups of Helm's HIP-0025, and the order of charts
	OrderSourceNone   = edges.OrderSourceNone   // no layers
)

// WaitAnnotation overrides what later resources wait for: "none" or "applied"
// until the resource is applied, "ready" until it is ready. It takes precedence
// over the layer's gate and --wait.
const WaitAnnotation = "ordapply.dev/wait"

// DependsOnAnnotation lists the resources that must be ready before the one that has it.
const DependsOnAnnotation = edges.DependsOnAnnotation

// Chart holds what a Chart.yaml says about the order of its dependencies (HIP-0025).
type Chart = edges.Chart

// Dependency is an entry of a Chart.yaml's dependencies.
type Dependency = edges.Dependency

// Stack is a set of applications that others wait for as a whole (RFC-DEPLOY-0001).
type Stack = edges.Stack

// App is an application of a stack: a set of resources of a stream.
type App = edges.App

// Need is an edge to a resource, as seen by its dependent.
type Need = edges.Need

// Barrier is an edge to a whole layer, as seen by a dependent: every resource of the layer
// must have passed its gate. Its Layer is an index into Plan.Layers.
type Barrier = edges.Barrier

// Skipped is a resource of the stream that is not part of an apply, such as a hook.
type Skipped = edges.Skipped

// LayerKind says where a layer comes from.
type LayerKind = edges.LayerKind

// Values of LayerKind.
const (
	Prerequisites = edges.Prerequisites // CRDs and Namespaces that nothing else placed
	Stamped       = edges.Stamped       // by a SortOrder's stamps
	ArgoWave      = edges.ArgoWave      // a phase and wave of Argo CD
	HelmGroup     = edges.HelmGroup     // a group of a chart (HIP-0025), or its resources without a group
	HelmChart     = edges.HelmChart     // a chart with its subcharts, or only its own resources
	StackLayer    = edges.StackLayer    // a stack of applications (RFC-DEPLOY-0001)
	Application   = edges.Application   // of a stack
	ChangeGroup   = edges.ChangeGroup   // a change group of kapp
	AllPlaced     = edges.AllPlaced     // all placed resources
)

// CycleError reports resources or layers that wait for each other in a cycle.
type CycleError = edges.CycleError

// CycleEdge is one edge of a cycle, with display names of its ends.
type CycleEdge = edges.CycleEdge
