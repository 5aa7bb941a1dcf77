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
	hooksEnded := time.Duration(0)
	for _, h := range p.Hooks {
		hooksEnded = max(hooksEnded, p.measured(h).done)
	}
	start, at := hooksEnded, time.Duration(0)
	if len(path) > 0 {
		start = path[0].From
	}
	out := p.hooksDuring(0, start)
	if len(out) > 0 {
		start = out[0].From
	}
	if start > 0 {
		out = append([]Segment{{Of: -1, Cost: start}}, out...)
	}
	for n, s := range path {
		if between := p.hooksDuring(s.From, p.opened(s.Of)); n > 0 && len(between) > 0 {
			out, s = append(out, between...), s.begin(p.opened(s.Of))
		}
		out, at = append(out, s), s.From+s.Cost
	}
	if len(path) == 0 {
		return out
	}
	return append(out, p.hooksDuring(at, hooksEnded)...)
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

// hooksDuring returns the chain of hooks that ran within a time, each until the next one
// began, and the last until the end of the time.
func (p *Part) hooksDuring(from, to time.Duration) []Segment {
	latestFirst := make([]int, len(p.Hooks))
	for n := range p.Hooks {
		latestFirst[n] = n
	}
	slices.SortStableFunc(latestFirst, func(a, b int) int {
		return cmp.Compare(p.measured(p.Hooks[b]).done, p.measured(p.Hooks[a]).done)
	})
	var chain []Segment
	end := to
	for _, n := range latestFirst {
		if ran := p.measured(p.Hooks[n]); ran.start >= from && ran.done <= end && ran.start < ran.done {
			chain = append(chain, Segment{Of: n, Hook: true, From: ran.start, Cost: end - ran.start})
			end = ran.start
		}
	}
	slices.Reverse(chain)
	return chain
}
