package ordering

import "github.com/ordapply/ordapply/object"

// Resource is the input of planning, read from one manifest.
type Resource struct {
	object.Meta                // with the namespace that it will have in the cluster
	Object      map[string]any // the whole manifest, never modified; without it there are no inferred edges
	// Source is the position of the manifest for messages: "app.yaml, document
	// 2 (line 14)"; "" if unknown.
	Source string
	// Chart is the path of the Helm chart that rendered the resource, as in the
	// "# Source:" comments of `helm template`: "foo/charts/bar"; "" if unknown.
	Chart string
	// PreviousName is the resource's name before a build renamed it, by which other
	// manifests may still refer to it; "" if it has none. Several resources may
	// share it. A reference means the ones of its RenameGroup, renamed together, or
	// all if there are none.
	PreviousName string
	RenameGroup  string // the build's change of the name, such as its prefix and suffix
}

// Located returns the ID with the position of the manifest, if it is known.
func (r Resource) Located() string {
	if r.Source == "" {
		return r.ID.String()
	}
	return r.ID.String() + " (" + r.Source + ")"
}

// Condition evaluates a CEL expression over variables. known is false if the
// expression cannot be evaluated, for example because it uses other variables.
type Condition func(expression string, variables map[string]any) (holds, known bool)

// IsPrerequisite reports whether a resource is a CRD or a Namespace; others
// cannot exist without it. Options.PrerequisiteKinds adds to these.
func IsPrerequisite(id object.ID) bool { return id.IsCRD() || id.IsNamespace() }
