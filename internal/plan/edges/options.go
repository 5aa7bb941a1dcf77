package edges

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// UnusedOptions returns an error for each application and each chart without a
// resource in the stream, including resources that a selection leaves out.
func UnusedOptions(o ordering.Options, resources []ordering.Resource) error {
	var errs []error
	if len(o.Charts) > 0 {
		errs = unusedCharts(o, slices.Concat(resources, o.Excluded, o.Hooks))
	}
	if o.IdleApplications != nil {
		var metas []object.Meta
		for _, r := range slices.Concat(resources, o.Excluded) {
			metas = append(metas, r.Meta)
		}
		errs = append(errs, o.IdleApplications(metas)...)
	}
	return errors.Join(errs...)
}

// isPrerequisite reports whether a resource's kind is a prerequisite.
func isPrerequisite(o ordering.Options, r ordering.Resource) bool {
	return r.ID.IsCRD() || r.ID.IsNamespace() || slices.Contains(o.PrerequisiteKinds, r.Kind) || slices.Contains(o.PrerequisiteKinds, r.GroupKind())
}
