package ordering

import "slices"

// Unordered is the plan without its order: the same resources in one wave, none
// of which waits for another, but for a Namespace to be there, without which
// nothing can be applied to it (KubeVela KEP-0005's switch).
func (p *Plan) Unordered() *Plan {
	out := &Plan{Steps: slices.Clone(p.Steps), Waves: []Wave{{Name: "unordered"}}, Skipped: p.Skipped, Hooks: p.Hooks, Notes: p.Notes}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Wave, s.ReadyBy = 0, 0
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return n.Why.Rule != "namespace" })
		s.After, s.Layers, s.External = nil, nil, nil
	}
	return out
}

// OrderingAnnotation and PrerequisitesAnnotation, "true" or "false" on any resource of
// a stream, say for the whole stream what --ordering and --prerequisites say for a run:
// KEP-0005's annotation of an Application. Build does not read them: flags of a command
// go before them.
const (
	OrderingAnnotation      = "ordapply.dev/ordering"
	PrerequisitesAnnotation = "ordapply.dev/prerequisites"
)
