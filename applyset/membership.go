package applyset

import "slices"

// Membership is the apply set whose members the resources of a run become. Its zero value
// is no set.
type Membership struct {
	Set   string // the set's ID, as Parent.SetID returns it; "" for no set
	Adopt Adopt  // which existing objects may become members; default AdoptUnowned
	// PreviousManagers are field managers of earlier runs or other tools. Their Apply entries
	// on the resources are migrated to the field manager of the run; otherwise a field that
	// the manifest drops later would remain.
	PreviousManagers []string
}

// Adopt selects the existing objects that a run may make members of its apply set, with
// the values of the flag --adopt.
type Adopt string

// The policies of adoption. The zero value means AdoptUnowned.
const (
	AdoptNever   Adopt = "never"   // no object: one that exists and is no member is an error
	AdoptUnowned Adopt = "unowned" // objects of no set
	AdoptAny     Adopt = "any"     // objects of other sets, too
)

// Force selects the field managers whose fields a run takes over where they conflict with
// the manifest, as the flag --force-conflicts does. The zero value is none: a conflict is
// an error.
type Force struct {
	All      bool     // every manager
	Managers []string // these, by name
}

// From reports whether the fields of a manager may be taken over.
func (f Force) From(manager string) bool { return f.All || slices.Contains(f.Managers, manager) }
