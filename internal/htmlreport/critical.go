package htmlreport

import (
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/events"
)

// Segment is one step of the critical path: a resource, and how long everything waited
// for it.
type Segment struct {
	Of   int           // index of the resource
	From time.Duration // since the part began: when what it waited for was done
	Cost time.Duration // from then until others could go on, or the run was over
	// Why is why it had to wait for the segment before it: the reason of the edge, or
	// that its wave opened.
	Why string
	// Without is how long the run would have taken without that edge, by the times that
	// were measured; 0 where it would not have been shorter, and for a wave.
	Without time.Duration
}

// timeline is what the calculation needs of a part: the times of resources since the
// part began.
type timeline struct {
	part      *Part
	index     map[events.ID]int
	order     []int // resources by wave, what is needed first
	fromStart []span
	waves     bool // waves open one after the other
}

// span is when a resource could start, was applied and was done.
type span struct{ start, applied, done time.Duration }

// CriticalPath returns the chain of resources that made the part as long as it was, from
// the first to the last; none when nothing was applied.
func (p *Part) CriticalPath(schedule string) []Segment {
	t := newTimeline(p, schedule)
	last := t.latest()
	if last < 0 {
		return nil
	}
	var path []Segment
	end := t.fromStart[last].done
	whole := t.length(t.simulate(noEdge()))
	for at := last; at >= 0; {
		before, edge, why := t.released(at)
		from := time.Duration(0)
		if before >= 0 {
			from = t.passed(before, edge.gate)
		}
		segment := Segment{Of: at, From: from, Cost: end - from, Why: why}
		if edge.to >= 0 {
			if without := t.length(t.simulate(edge)); without < whole {
				segment.Without = without
			}
		}
		path = append(path, segment)
		end, at = from, before
	}
	slices.Reverse(path)
	return path
}

// edge is the need number of resource to; to is -1 for none.
type edge struct {
	to, need int
	gate     string
}

func noEdge() edge { return edge{to: -1} }

func newTimeline(p *Part, schedule string) *timeline {
	t := &timeline{part: p, index: map[events.ID]int{}, waves: schedule != "graph", fromStart: make([]span, len(p.Resources))}
	for i, r := range p.Resources {
		t.index[r.ID] = i
		t.order = append(t.order, i)
	}
	for i, r := range p.Resources {
		t.fromStart[i] = t.measured(r)
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return int(t.fromStart[a].start - t.fromStart[b].start) })
	return t
}

// measured returns the times of one resource. What was not sent took no time.
func (t *timeline) measured(r *Resource) span {
	since := func(at, otherwise time.Time) time.Duration {
		if at.IsZero() {
			at = otherwise
		}
		if at.IsZero() {
			return 0
		}
		return max(0, at.Sub(t.part.Began))
	}
	done := since(r.Done, r.Applied)
	start := since(r.Sent, r.Done)
	return span{start: min(start, done), applied: min(max(start, since(r.Applied, r.Done)), done), done: done}
}

// latest returns the resource that was done last, of those that something was sent for.
func (t *timeline) latest() int {
	last := -1
	for i, r := range t.part.Resources {
		if !r.Sent.IsZero() && !r.Done.IsZero() && (last < 0 || t.fromStart[i].done > t.fromStart[last].done) {
			last = i
		}
	}
	return last
}

// passed returns when a resource passed a gate.
func (t *timeline) passed(i int, gate string) time.Duration {
	if gate == "applied" {
		return t.fromStart[i].applied
	}
	return t.fromStart[i].done
}

// released returns the resource that the start of another waited for last: one that it
// needs, or the last of an earlier wave; -1 for none.
func (t *timeline) released(at int) (before int, by edge, why string) {
	before, by = -1, noEdge()
	latest := time.Duration(0)
	for n, need := range t.part.Resources[at].Needs {
		i, ok := t.index[need.ID]
		if !ok || i == at || t.passed(i, need.Gate) > t.fromStart[at].done {
			continue
		}
		if passed := t.passed(i, need.Gate); before < 0 || passed > latest {
			before, by, why, latest = i, edge{to: at, need: n, gate: need.Gate}, need.Reason, passed
		}
	}
	if !t.waves {
		return before, by, why
	}
	for i, r := range t.part.Resources {
		if r.ReadyBy >= t.part.Resources[at].Planned.Wave || r.Sent.IsZero() {
			continue
		}
		if passed := t.passed(i, r.Gate); passed > latest && passed <= t.fromStart[at].done {
			before, by, why, latest = i, edge{to: -1, gate: r.Gate}, "its wave opened", passed
		}
	}
	return before, by, why
}

// simulate returns when each resource would have been applied and done without an edge,
// had each step taken the time that it took.
func (t *timeline) simulate(without edge) []span {
	out := make([]span, len(t.fromStart))
	opened := make([]time.Duration, len(t.part.Waves)+2) // by number of the wave
	for _, i := range t.order {
		r := t.part.Resources[i]
		start := time.Duration(0)
		if t.waves && !t.floats(i, without) {
			start = opened[min(max(r.Planned.Wave, 0), len(opened)-1)]
		}
		for n, need := range r.Needs {
			before, ok := t.index[need.ID]
			if !ok || without.to == i && without.need == n {
				continue
			}
			if need.Gate == "applied" {
				start = max(start, out[before].applied)
			} else {
				start = max(start, out[before].done)
			}
		}
		began := t.began(i)
		was := t.fromStart[i]
		out[i] = span{start: start, applied: start + was.applied - began, done: start + was.done - began}
		pass := out[i].done
		if r.Gate == "applied" {
			pass = out[i].applied
		}
		for w := max(r.ReadyBy, 0) + 1; w < len(opened); w++ {
			opened[w] = max(opened[w], pass)
		}
	}
	return out
}

// began returns when a resource could start, by what it waited for.
func (t *timeline) began(i int) time.Duration {
	before, by, _ := t.released(i)
	if before < 0 {
		return 0
	}
	return min(t.passed(before, by.gate), t.fromStart[i].applied)
}

// floats reports whether a resource's wave follows from the edge that is left out: then
// it need not wait for its wave.
func (t *timeline) floats(i int, without edge) bool {
	return without.to == i && t.part.Resources[i].Layer == ""
}

// length returns when the last is done.
func (t *timeline) length(spans []span) time.Duration {
	longest := time.Duration(0)
	for _, s := range spans {
		longest = max(longest, s.done)
	}
	return longest
}
