package ordering

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// Before reports whether a hook runs before the first wave: its event begins with "pre-", or is
// PreSync.
func (h PlannedHook) Before() bool {
	return !h.Within && (strings.HasPrefix(h.Event, "pre-") || h.Event == "PreSync")
}

// In reports whether a hook runs with the resources of a wave.
func (h PlannedHook) In(wave int) bool { return h.Within && h.Wave == wave }

// After reports whether a hook runs after the last wave, or after a failure.
func (h PlannedHook) After() bool { return !h.Within && !h.Before() }

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
