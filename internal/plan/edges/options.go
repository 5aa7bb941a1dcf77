package edges

import (
	"errors"
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
)

// Options configure how a plan is built. The zero value is the documented
// default.
type Options struct {
	// OrderSource selects what places resources. OrderSourceAuto detects it.
	OrderSource OrderSource
	// SkipHooks moves Helm hooks, and Argo CD hooks that no sync creates, to
	// Plan.Skipped. By default they are errors.
	SkipHooks bool
	// RunHooks means that the caller took Helm's hooks out of the stream to run
	// them around the plan. Hooks that are still in the stream are treated as
	// by default.
	RunHooks bool
	// Hooks are those that the caller took out of the stream to run them.
	Hooks []references.Resource
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
	// each application that must select a resource and selects none. Build and
	// Vet return these errors; DeletionOrder does not, since resources may be
	// gone already. Nil means no check.
	IdleApplications func([]object.Meta) []error
	// KindTimeouts limit how long resources of a kind may take to become ready.
	// The first entry that names the kind is used.
	KindTimeouts []KindTimeout
	// Condition evaluates the matchConditions of webhooks. If it is nil, all
	// conditions hold.
	Condition references.Condition
	// Serves reports whether the cluster serves a resource's kind and version.
	// Such a kind is not taken for a misspelling of one that the stream's CRDs
	// define. Nil without a cluster.
	Serves func(object.Meta) bool
	// Excluded are resources that belong to the stream but are not part of the
	// plan. Dependents wait for them in the cluster, as they do for external
	// resources.
	Excluded []references.Resource
	// Before are resources that are in the cluster before the plan starts: Helm hooks of
	// the stream. Only vet reads them.
	Before []references.Resource
}

// KindTimeout limits how long a resource of a kind may take to become ready.
type KindTimeout struct {
	Kind    string        // "Kind" of any group, or "Kind.group"
	Timeout time.Duration // for each resource, once its dependencies are met
}

// UnusedOptions returns an error for each application that selects no resource of the
// stream, including the resources that a selection leaves out, and for each chart that
// no resource comes from.
func UnusedOptions(o Options, resources []references.Resource) error {
	all := slices.Concat(resources, o.Excluded)
	errs := unusedCharts(o, slices.Concat(all, o.Hooks))
	if o.IdleApplications != nil {
		var metas []object.Meta
		for _, r := range all {
			metas = append(metas, r.Meta)
		}
		errs = append(errs, o.IdleApplications(metas)...)
	}
	return errors.Join(errs...)
}

// isPrerequisite reports whether a resource's kind is a prerequisite.
func isPrerequisite(o Options, r references.Resource) bool {
	return r.ID.IsCRD() || r.ID.IsNamespace() || slices.Contains(o.PrerequisiteKinds, r.Kind) || slices.Contains(o.PrerequisiteKinds, r.GroupKind())
}

// Skipped is a resource of the stream that is not part of an apply, such as a hook.
type Skipped struct {
	ID  object.ID
	Why graph.Reason
}
