package html

import (
	"cmp"
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/view/events"
)

// Segment is one step of the critical path: the preparation, a resource or a hook, and how
// long everything waited for it.
type Segment struct {
	Of   int           // index of the resource or the hook; -1 for the preparation
	Hook bool          // Of is a hook
	From time.Duration // since the part began: when its last wait was over
	Cost time.Duration // from then until others could go on, or the run was over
	// Why is the reason to wait for the segment before it: that of the edge, or that its wave
	// opened.
	Why string
	// Without is the run's time without that edge, by the times that were measured; 0 where it
	// would not have been shorter by a hundredth, for a wave, and for short segments of a very long
	// path.
	Without time.Duration
}

// maxVisits limits the work of the calculation of Segment.Without: the resources and
// needs that are looked at. It suffices for each segment of a path of 2,000.
const maxVisits = 20_000_000

// CriticalPath returns the chain of resources and hooks that made the part as long as it
// was, from the first to the last; none when nothing was applied.
func (p *Part) CriticalPath(schedule string) []Segment {
	t := newTimeline(p, schedule)
	return p.withHooks(t.costlyEdges())
}

// costlyEdges returns the path of resources, with the time without each of its edges.
func (t *timeline) costlyEdges() []Segment {
	path, edges := t.path()
	whole, after := t.lengthWithout(noEdge()), time.Duration(0) // hooks that ran after it
	if len(path) > 0 {
		last := path[len(path)-1]
		after = max(0, t.part.hooksEnded()-last.From-last.Cost)
	}
	visits := 0
	for _, n := range byCost(path) {
		if edges[n].to < 0 {
			continue
		}
		if visits += t.size; visits > maxVisits {
			break
		}
		if without := t.lengthWithout(edges[n]); whole-without > whole/100 {
			path[n].Without = without + after
		}
	}
	return path
}

// byCost returns the indices of segments, the most expensive first.
func byCost(path []Segment) []int {
	indices := make([]int, len(path))
	for n := range path {
		indices[n] = n
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(path[b].Cost, path[a].Cost) })
	return indices
}

// timeline has the times of a part's resources since the part began.
type timeline struct {
	part     *Part
	waves    bool          // waves open one after the other
	start    time.Duration // when the first resource could start
	order    []int
	measured []span
	began    []time.Duration // when each resource could start, by its prerequisites
	needs    [][]edge        // of each resource; only resources that come before it in order
	opener   []int           // by wave: the resource of earlier waves that passed last; -1 for none
	size     int             // resources and needs
}

// span is when a resource was sent, applied and done.
type span struct{ start, applied, done time.Duration }

// edge is a need of resource to for resource from; to is -1 for none.
type edge struct {
	from, to int
	gate     string
	reason   string
}

func noEdge() edge { return edge{from: -1, to: -1} }

func newTimeline(p *Part, schedule string) *timeline {
	t := &timeline{part: p, waves: schedule != "graph", start: p.prepared()}
	for i, r := range p.Resources {
		t.measured = append(t.measured, p.measured(r))
		t.order = append(t.order, i)
	}
	slices.SortStableFunc(t.order, func(a, b int) int {
		if t.waves && p.Resources[a].Planned.Wave != p.Resources[b].Planned.Wave {
			return cmp.Compare(p.Resources[a].Planned.Wave, p.Resources[b].Planned.Wave)
		}
		return cmp.Compare(t.measured[a].start, t.measured[b].start)
	})
	t.findNeeds()
	t.findOpeners()
	t.began = make([]time.Duration, len(p.Resources))
	for i := range p.Resources {
		t.began[i] = min(t.start, t.measured[i].applied)
		if by := t.released(i); by.from >= 0 {
			t.began[i] = min(t.measured[by.from].passed(by.gate), t.measured[i].applied)
		}
	}
	return t
}

// measured returns the times of one resource. An unsent one took no time.
func (p *Part) measured(r *Resource) span {
	since := func(at, otherwise time.Time) time.Duration {
		if at.IsZero() {
			at = otherwise
		}
		if at.IsZero() {
			return 0
		}
		return max(0, at.Sub(p.Began))
	}
	done := since(r.Done, r.Applied)
	start := since(r.Sent, r.Done)
	return span{start: min(start, done), applied: min(max(start, since(r.Applied, r.Done)), done), done: done}
}

// passed returns when a gate was passed.
func (s span) passed(gate string) time.Duration {
	if gate == "applied" {
		return s.applied
	}
	return s.done
}

// findNeeds resolves the needs. A need for a resource that comes later is left out: no
// run has one, and a cycle of them would have no end.
func (t *timeline) findNeeds() {
	index, place := map[events.ID]int{}, make([]int, len(t.order))
	for i, r := range t.part.Resources {
		index[r.ID] = i
	}
	for n, i := range t.order {
		place[i] = n
	}
	t.needs, t.size = make([][]edge, len(t.order)), len(t.order)
	for i, r := range t.part.Resources {
		for _, need := range r.Needs {
			if from, ok := index[need.ID]; ok && place[from] < place[i] {
				t.needs[i] = append(t.needs[i], edge{from, i, need.Gate, need.Reason})
				t.size++
			}
		}
	}
}

// findOpeners finds the opener of each wave.
func (t *timeline) findOpeners() {
	t.opener = make([]int, t.part.lastWave()+2)
	for n := range t.opener {
		t.opener[n] = -1
	}
	if !t.waves {
		return
	}
	take := func(wave, i int) {
		if held := t.opener[wave]; held < 0 || t.pass(i) > t.pass(held) {
			t.opener[wave] = i
		}
	}
	for _, i := range t.order {
		if r := t.part.Resources[i]; !r.Sent.IsZero() {
			take(r.next(), i)
		}
	}
	for n := 1; n < len(t.opener); n++ {
		if before := t.opener[n-1]; before >= 0 {
			take(n, before)
		}
	}
}

// lastWave returns the highest number of a wave.
func (p *Part) lastWave() int {
	last := len(p.Waves)
	for _, r := range p.Resources {
		last = max(last, r.Planned.Wave, r.ReadyBy)
	}
	return last
}

// next returns the wave that opens only after the resource has passed its gate.
func (r *Resource) next() int { return max(r.Planned.Wave, r.ReadyBy, 0) + 1 }

// pass returns when a resource passed the gate that later waves wait for.
func (t *timeline) pass(i int) time.Duration {
	return t.measured[i].passed(t.part.Resources[i].Gate)
}

// released returns the last wait before the start of a resource: an edge from a
// prerequisite, or one without a target from the last of an earlier wave; noEdge for none.
func (t *timeline) released(at int) edge {
	by, latest, end := noEdge(), time.Duration(-1), t.measured[at].done
	for _, need := range t.needs[at] {
		if passed := t.measured[need.from].passed(need.gate); passed > latest && passed <= end {
			by, latest = need, passed
		}
	}
	if before := t.opener[t.wave(at)]; before >= 0 && t.pass(before) > max(latest, 0) && t.pass(before) <= end {
		by = edge{from: before, to: -1, gate: t.part.Resources[before].Gate, reason: "its wave opened"}
	}
	return by
}

// wave returns the number of a resource's wave, from 0.
func (t *timeline) wave(i int) int { return max(t.part.Resources[i].Planned.Wave, 0) }

// path returns the critical path, and the edge that each segment waited for.
func (t *timeline) path() (path []Segment, edges []edge) {
	at := t.latest()
	if at < 0 {
		return nil, nil
	}
	for end := t.measured[at].done; at >= 0; {
		by, from := t.released(at), time.Duration(0)
		if by.from >= 0 {
			from = t.measured[by.from].passed(by.gate)
		} else {
			from = min(t.start, end)
		}
		path = append(path, Segment{Of: at, From: from, Cost: end - from, Why: by.reason})
		edges = append(edges, by)
		end, at = from, by.from
	}
	slices.Reverse(path)
	slices.Reverse(edges)
	return path, edges
}

// latest returns the resource that was done last, without unsent ones; -1 when there is
// none.
func (t *timeline) latest() int {
	last := -1
	for i, r := range t.part.Resources {
		if !r.Sent.IsZero() && !r.Done.IsZero() && (last < 0 || t.measured[i].done > t.measured[last].done) {
			last = i
		}
	}
	return last
}

// lengthWithout returns how long the part would have been without an edge, had each step
// taken the time that it took.
func (t *timeline) lengthWithout(left edge) time.Duration {
	spans := make([]span, len(t.measured))
	passed := make([]time.Duration, len(t.opener)) // by wave: when all that it waits for has passed
	longest, opened := time.Duration(0), 0
	for _, i := range t.order {
		r, start := t.part.Resources[i], t.start
		if t.waves {
			for ; opened < t.wave(i); opened++ {
				passed[opened+1] = max(passed[opened+1], passed[opened])
			}
			if left.to != i || r.Layer != "" { // else its wave follows from the edge, and goes with it
				start = max(start, passed[t.wave(i)])
			}
		}
		for _, need := range t.needs[i] {
			if need != left {
				start = max(start, spans[need.from].passed(need.gate))
			}
		}
		was, shift := t.measured[i], start-t.began[i]
		spans[i] = span{start, was.applied + shift, was.done + shift}
		passed[r.next()] = max(passed[r.next()], spans[i].passed(r.Gate))
		longest = max(longest, spans[i].done)
	}
	return longest
}
