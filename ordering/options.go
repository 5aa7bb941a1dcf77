package ordering

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/object"
)

// Options configure how planner.Build makes a plan. The zero value is the documented
// default.
type Options struct {
	// OrderSource selects the frame. OrderSourceAuto detects it.
	OrderSource OrderSource
	// SkipHooks moves Helm hooks, and Argo CD hooks that no sync creates, to
	// Plan.Skipped. By default they are errors.
	SkipHooks bool
	// RunHooks means that the caller took Helm's hooks out of the stream to run
	// them around the plan. Hooks that are still in the stream are treated as
	// by default.
	RunHooks bool
	// Hooks are run by the caller, which took them out of the stream.
	Hooks []Resource
	// KeepHooks plans hooks like any other resource. Deletions use it, because
	// a cluster may hold hooks from any source.
	KeepHooks bool
	// Incomplete means that parts of the stream could not be read. References
	// to resources that are not in the stream are then not errors.
	Incomplete bool
	// NoPrerequisites stops CRDs and Namespaces that nothing places from being
	// applied first.
	NoPrerequisites bool
	// PrerequisiteKinds are applied first, together with CRDs and Namespaces:
	// "Kind" of any group, or "Kind.group".
	PrerequisiteKinds []string
	// Charts describe how the charts of a rendered stream depend on each other.
	Charts []Chart
	// Stacks group applications.
	Stacks []Stack
	// ApplicationOf returns the application of a resource as
	// "stack/application", or "" if it has none. It is required with Stacks.
	ApplicationOf func(object.Meta) string
	// IdleApplications returns, given all resources of a stream, an error for
	// each application that must select a resource and selects none. planner.Build
	// returns these errors; planner.DeletionOrder does not, since resources may be
	// gone already. Nil means no check.
	IdleApplications func([]object.Meta) []error
	// KindTimeouts limit how long resources of a kind may take to become ready.
	// The first entry that names the kind is used.
	KindTimeouts []KindTimeout
	// Condition evaluates the matchConditions of webhooks. If it is nil, all
	// conditions hold.
	Condition Condition
	// Serves reports whether the cluster serves a resource's kind and version.
	// Such a kind is not taken for a misspelling of one that the stream's CRDs
	// define. Nil without a cluster.
	Serves func(object.Meta) bool
	// Excluded are resources that belong to the stream but are not part of the
	// plan. Dependents wait for them in the cluster, as they do for external
	// resources.
	Excluded []Resource
	// Before are resources that are in the cluster before the plan starts: Helm hooks of
	// the stream. Only vet reads them.
	Before []Resource
}

// KindTimeout limits how long a resource of a kind may take to become ready.
type KindTimeout struct {
	Kind    string        // "Kind" of any group, or "Kind.group"
	Timeout time.Duration // for each resource, once its dependencies are met
}

// OrderSource selects where the order of a stream comes from.
type OrderSource string

// Values of OrderSource. Where it places no resource, only edges and prerequisites order
// the resources.
const (
	OrderSourceAuto   OrderSource = ""       // stamps if any resource has them, else the only frame whose annotations are in the stream
	OrderSourceStamps OrderSource = "stamps" // a SortOrder's annotations
	OrderSourceArgoCD OrderSource = "argocd" // Argo CD's phases and waves
	OrderSourceHelm   OrderSource = "helm"   // groups of Helm's HIP-0025, and the order of charts
	OrderSourceNone   OrderSource = "none"   // no layers
)

// ParseOrderSource parses the value of --frame: "argocd", "helm", "none", or ""
// for OrderSourceAuto. Stamps need no flag: "stamps" is an error, too.
func ParseOrderSource(s string) (OrderSource, error) {
	switch f := OrderSource(s); f {
	case OrderSourceAuto, OrderSourceArgoCD, OrderSourceHelm, OrderSourceNone:
		return f, nil
	}
	return OrderSourceAuto, fmt.Errorf("%q is not a frame: write argocd, helm or none", s)
}

// Chart has the order of dependencies in a Chart.yaml (HIP-0025).
type Chart struct {
	// Path is the chart's path in the "# Source:" comments of `helm template`:
	// "foo", "foo/charts/bar".
	Path string
	// DependsOn are the dependencies that the chart's own resources wait for,
	// from the annotation helm.sh/depends-on/subcharts.
	DependsOn    []string
	Dependencies []Dependency // as listed
}

// Dependency is an entry of a Chart.yaml's dependencies.
type Dependency struct {
	Name, Alias string   // alias: "" if none
	Tags        []string // as in Helm, names for several dependencies
	DependsOn   []string // dependencies of the same chart, by name, alias or tag
}

// Title returns the name of the dependency's folder in a rendered chart: its
// alias, else its name.
func (d Dependency) Title() string {
	if d.Alias != "" {
		return d.Alias
	}
	return d.Name
}

// Stack is a set of applications that others wait for as a whole
// (RFC-DEPLOY-0001).
type Stack struct {
	Name         string        // in messages, and as the name of its layer after "stack"
	DependsOn    []string      // names of stacks, which must be ready first
	Timeout      time.Duration // how long all of it may take to become ready; 0 if not set
	Applications []App         // with distinct names
	// Atomic means that a stack that does not become ready is rolled back as a
	// whole.
	Atomic bool
}

// App is an application: a set of resources of a stack. Frames such as Argo
// CD's waves and Helm's groups order resources within each application.
type App struct {
	Name string // within the stack
	// DependsOn names applications of the same stack, or of another one as
	// "stack/application", and whole stacks. A name that is both is the application.
	DependsOn []string
	Timeout   time.Duration // how long all of it may take to become ready; 0 if not set
	// External are resources of the application that are not in the stream.
	// Dependents of the application wait for them in the cluster.
	External []object.ID
}
