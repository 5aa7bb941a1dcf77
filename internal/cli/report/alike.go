package report

import (
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// manyAlike is the number of resources of one kind in a wave above which equal news share a
// line.
const manyAlike = 10

// heldFor limits a resource's wait for others to share its line.
const heldFor = 2 * time.Second

// sharing lets resources of one kind share a line when many of them do the same at about
// the same time: the first has a line of its own, and one line counts the others. The zero
// value shares nothing.
type sharing struct {
	kinds  map[waveKind]int
	groups []*group
}

// waveKind is a kind of resource in a wave.
type waveKind struct {
	wave int
	kind string
}

// group are the resources with the same news that have no line yet.
type group struct {
	news    news
	since   time.Time // when the first of them was held back
	held    map[object.ID]bool
	slowest track.Transition
	words   string // about the slowest
}

// news is a line about a resource, without its name and times.
type news struct {
	waveKind
	event     track.Kind
	state     event.State
	unchanged bool
	detail    string
}

// newSharing counts the kinds of a plan.
func newSharing(plan *ordering.Plan) sharing {
	kinds := map[waveKind]int{}
	for _, s := range plan.Steps {
		kinds[waveKind{s.Wave, s.ID.GroupKind()}]++
	}
	return sharing{kinds: kinds}
}

// hold reports whether the line of a resource, which says these words about it, is shared
// with others and comes later. Timeouts and kept objects always have a line.
func (s *sharing) hold(t track.Transition, words string) bool {
	what := news{waveKind{t.Wave, t.ID.GroupKind()}, t.Kind, t.State, t.Unchanged, t.Detail}
	if words == "" || s.kinds[what.waveKind] <= manyAlike || slices.Contains([]event.State{event.TimedOut, event.Kept}, t.State) {
		return false
	}
	at := slices.IndexFunc(s.groups, func(g *group) bool { return g.news == what })
	if at < 0 {
		s.groups = append(s.groups, &group{news: what, held: map[object.ID]bool{}})
		return false
	}
	g := s.groups[at]
	if len(g.held) == 0 {
		g.since = t.Time
	}
	if len(g.held) == 0 || t.Took() >= g.slowest.Took() {
		g.slowest, g.words = t, words
	}
	g.held[t.ID] = true
	return true
}

// release forgets the wait of a resource with newer news, and calls line for each group
// that was held back long enough.
func (s *sharing) release(newer track.Transition, line func(*group)) {
	for _, g := range s.groups {
		if g.news.event == track.Progressed {
			delete(g.held, newer.ID)
		}
		if len(g.held) > 0 && newer.Time.Sub(g.since) >= heldFor {
			line(g)
			clear(g.held)
		}
	}
}

// end calls line for each group of resources that ended, and forgets them all.
func (s *sharing) end(line func(*group)) {
	for _, g := range s.groups {
		if len(g.held) > 0 && g.news.event == track.Ended {
			line(g)
		}
	}
	s.groups = nil
}
