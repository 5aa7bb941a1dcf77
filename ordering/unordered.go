package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
)

// Unordered returns a plan with the same resources in one wave. The only needs
// that remain are those on Namespaces (the switch of KubeVela's KEP-0005), and on objects
// whose values a resource takes.
func (p *Plan) Unordered() *Plan {
	out := &Plan{Steps: slices.Clone(p.Steps), Waves: []Wave{{Name: "unordered"}}, Skipped: p.Skipped, Hooks: p.Hooks, Notes: p.Notes}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Wave, s.Due, s.ReadyBy = 0, 0, 0
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return n.Why.Rule != graph.RuleNamespace && n.Why.Rule != graph.RuleMutation })
		s.External = slices.DeleteFunc(slices.Clone(s.External), func(n Need) bool { return n.Why.Rule != graph.RuleMutation })
		s.After, s.Layers = nil, nil
	}
	return out
}

// OrderingAnnotation and PrerequisitesAnnotation, set to "true" or "false" on
// any resource, apply to the whole stream like --ordering and --prerequisites
// (the annotation of an Application in KubeVela's KEP-0005). Build ignores them;
// flags of a command take precedence.
const (
	OrderingAnnotation      = "ordapply.dev/ordering"
	PrerequisitesAnnotation = "ordapply.dev/prerequisites"
)
