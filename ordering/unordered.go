package ordering

import "slices"

// Unordered returns a plan with the same resources in one wave. The only remaining needs
// are on Namespaces (the switch of KubeVela's KEP-0005), and on objects whose values a
// resource takes.
func (p *Plan) Unordered() *Plan {
	out := &Plan{Steps: slices.Clone(p.Steps), Waves: []Wave{{Name: "unordered"}}, OrderIgnored: true, Skipped: p.Skipped, Hooks: p.Hooks, Notes: p.Notes}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Wave, s.Due, s.ReadyBy = 0, 0, 0
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return n.Why.Rule != RuleNamespace && n.Why.Rule != RuleMutation })
		s.External = slices.DeleteFunc(slices.Clone(s.External), func(n Need) bool { return n.Why.Rule != RuleMutation })
		s.After, s.Layers = nil, nil
	}
	return out
}
