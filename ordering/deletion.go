package ordering

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Deletion is the deletion order of resources, as planner.DeletionOrder makes it: the reverse of their
// apply order. In addition, custom resources go before the stream's workloads, Secrets, ConfigMaps
// and RBAC, because a workload may run their finalizers with these, and APIServices go before
// Namespaces; CRDs and Namespaces go last. kapp's delete rules override all of this.
type Deletion struct {
	Steps []DeletionStep // sorted by wave, then by ID
	Waves int            // the number of waves; a wave starts when all resources of the one before are gone
	// Names are the names of waves, after the layers of their resources, as far as they have some.
	Names []string
	// Notes are remarks for display, such as edges that delete rules overrule.
	Notes []string
	// FollowsPlan is the plan that the deletion follows, as a prune follows an apply;
	// nil if there is none.
	FollowsPlan *Plan
}

// DeletionStep is the deletion of one resource.
type DeletionStep struct {
	ID   object.ID // unique in the deletion
	Wave int       // from 0, below Deletion.Waves
	// After are the resources that are deleted first. With gate Ready they must
	// be gone; with Applied their delete request must have been sent.
	After []Need
}

// Plan returns the deletion as a plan for display, appended to FollowsPlan. A
// step needs the resources that are deleted before it.
func (d *Deletion) Plan() *Plan {
	p, first := &Plan{Notes: d.Notes}, d.FirstWave()
	if d.FollowsPlan != nil {
		*p = *d.FollowsPlan
		p.Steps, p.Waves, p.Notes = slices.Clone(p.Steps), slices.Clone(p.Waves), slices.Concat(p.Notes, d.Notes)
	}
	for n := range d.Waves {
		wave := Wave{}
		switch {
		case d.FollowsPlan != nil:
			wave.Name = "prune"
		case n < len(d.Names):
			wave.Name = d.Names[n]
		}
		p.Waves = append(p.Waves, wave)
	}
	for _, s := range d.Steps {
		p.Steps = append(p.Steps, Step{ID: s.ID, Wave: first + s.Wave, Due: first + s.Wave, ReadyBy: first + s.Wave, Needs: s.After, Why: s.because()})
	}
	return p
}

// FirstWave returns the index of the deletion's first wave in Plan: 0, or behind
// the waves of FollowsPlan.
func (d *Deletion) FirstWave() int {
	if d.FollowsPlan == nil {
		return 0
	}
	return len(d.FollowsPlan.Waves)
}

// because returns a short reason why a resource is not deleted earlier.
func (s DeletionStep) because() Reason {
	if len(s.After) == 0 {
		return Reason{Rule: "nothing being deleted needs it"}
	}
	why := s.After[0].ID.String()
	if more := len(s.After) - 1; more > 0 {
		why += fmt.Sprintf(" and %d more", more)
	}
	return Reason{Rule: Rule("after " + why)}
}
