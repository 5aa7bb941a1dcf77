package ordering

import (
	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/references"
)

// Gate is the state that a dependency must reach before its dependent is
// applied: Ready, or Applied. Its text is that of annotations and configuration.
type Gate = graph.Gate

// Values of Gate.
const (
	// Ready waits until the dependency is ready; for a CRD, until the API
	// server serves its kind.
	Ready = graph.Ready
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
	RuleNamespace    = graph.RuleNamespace    // a resource lives in a Namespace
	RulePrerequisite = graph.RulePrerequisite // a CRD, a Namespace or a prerequisite kind goes first
	RuleExcluded     = graph.RuleExcluded     // a selection leaves the resource of the stream out
	RuleExternal     = graph.RuleExternal     // an application lists the resource as external
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
