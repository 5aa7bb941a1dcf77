package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// TakeHooks makes hooks of steps, which then run in their waves and are no steps any more. A
// wave of the plan may be left without a step.
func (p *Plan) TakeHooks(event string, isHook func(object.ID) bool) {
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		if isHook(s.ID) {
			p.Hooks = append(p.Hooks, PlannedHook{Event: event, ID: s.ID, Source: s.Source, Within: true, Wave: s.Wave, ReadyBy: s.ReadyBy})
			return true
		}
		return false
	})
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return isHook(n.ID) })
		s.ProvidedBy = slices.DeleteFunc(slices.Clone(s.ProvidedBy), isHook)
	}
}
