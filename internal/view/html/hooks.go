package html

import (
	"cmp"
	"slices"
	"time"
)

// prepared returns when the part began to apply: its first wave opened, or its first
// resource was sent; 0 if neither happened.
func (p *Part) prepared() time.Duration {
	var all []time.Time
	for _, w := range p.Waves {
		all = append(all, w.Opened)
	}
	for _, r := range p.Resources {
		all = append(all, r.Sent)
	}
	all = slices.DeleteFunc(all, time.Time.IsZero)
	if len(all) == 0 {
		return 0
	}
	return max(0, slices.MinFunc(all, time.Time.Compare).Sub(p.Began))
}

// withHooks returns a path of resources with the preparation of the part before it, and with
// the hooks that ran before, between and after the resources.
func (p *Part) withHooks(path []Segment) []Segment {
	hooks, start, at := p.hookTimes(), p.hooksEnded(), time.Duration(0)
	if len(path) > 0 {
		start = path[0].From
	}
	out := hooks.during(0, start)
	if len(out) > 0 {
		start = out[0].From
	}
	if start > 0 {
		out = append([]Segment{{Of: -1, Cost: start}}, out...)
	}
	for n, s := range path {
		if between := hooks.during(s.From, p.opened(s.Of)); n > 0 && len(between) > 0 {
			out, s = append(out, between...), s.begin(p.opened(s.Of))
		}
		out, at = append(out, s), s.From+s.Cost
	}
	if len(path) == 0 {
		return out
	}
	return append(out, hooks.during(at, p.hooksEnded())...)
}

// hooksEnded returns when the last hook ended; 0 without one.
func (p *Part) hooksEnded() time.Duration {
	last := time.Duration(0)
	for _, h := range p.Hooks {
		last = max(last, p.measured(h).done)
	}
	return last
}

// begin returns the segment with a later beginning, after a hook.
func (s Segment) begin(from time.Duration) Segment {
	return Segment{Of: s.Of, From: from, Cost: s.From + s.Cost - from}
}

// opened returns when the wave of a resource opened; 0 if that is not known.
func (p *Part) opened(resource int) time.Duration {
	n := p.Resources[resource].Planned.Wave - 1
	if n < 0 || n >= len(p.Waves) || p.Waves[n].Opened.IsZero() {
		return 0
	}
	return max(0, p.Waves[n].Opened.Sub(p.Began))
}

// hookTimes are the hooks of a part in the order of their ends.
type hookTimes []hookTime

type hookTime struct {
	index int
	span
}

func (p *Part) hookTimes() hookTimes {
	var all hookTimes
	for n, h := range p.Hooks {
		all = append(all, hookTime{n, p.measured(h)})
	}
	slices.SortStableFunc(all, func(a, b hookTime) int { return cmp.Compare(a.done, b.done) })
	return all
}

// during returns the chain of hooks that ran within a time, each until the next one began, and
// the last until the end of the time.
func (all hookTimes) during(from, to time.Duration) []Segment {
	ended, _ := slices.BinarySearchFunc(all, to, func(h hookTime, to time.Duration) int { return cmp.Compare(h.done, to+1) })
	var chain []Segment
	for end, n := to, ended-1; n >= 0 && all[n].done > from; n-- {
		if h := all[n]; h.start >= from && h.done <= end && h.start < h.done {
			chain = append(chain, Segment{Of: h.index, Hook: true, From: h.start, Cost: end - h.start})
			end = h.start
		}
	}
	slices.Reverse(chain)
	return chain
}
