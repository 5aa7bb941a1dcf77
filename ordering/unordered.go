package ordering

import "slices"

// Unordered returns a plan with the same resources in one wave. The only remaining needs
// are on Namespaces (the switch of KubeVela's KEP-0005), and on objects whose values a
// resource takes. Hooks run as the source of the order has them: those within the plan with that
// wave.
func (p *Plan) Unordered() *Plan {
	out := &Plan{
		OrderSource: p.OrderSource, OrderIgnored: true, Waves: []Wave{{Name: "unordered"}},
		Steps: slices.Clone(p.Steps), Skipped: p.Skipped, Hooks: slices.Clone(p.Hooks), Notes: p.Notes,
	}
	for i := range out.Hooks {
		out.Hooks[i].Wave, out.Hooks[i].ReadyBy = 0, 0
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Wave, s.Due, s.ReadyBy = 0, 0, 0
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return n.Why.Rule != RuleNamespace && n.Why.Rule != RuleMutation })
		s.External = slices.DeleteFunc(slices.Clone(s.External), func(n Need) bool { return n.Why.Rule != RuleMutation })
		s.After, s.Layers = nil, nil
	}
	return out
}
