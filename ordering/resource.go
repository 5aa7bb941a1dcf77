package ordering

import "github.com/ordapply/ordapply/object"

// IsPrerequisite reports whether a resource is a CRD or a Namespace; others
// cannot exist without it. Options.PrerequisiteKinds adds to these.
func IsPrerequisite(id object.ID) bool { return id.IsCRD() || id.IsNamespace() }
