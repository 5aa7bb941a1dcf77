package edges

import (
	"time"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Set is a layer during planning: resources that others wait for as a whole. In
// the graph it has two vertices, its entry and its exit, so that one edge
// expresses "all of this after all of that".
type Set struct {
	Name, Short string
	Kind        ordering.LayerKind
	Within      int // the set around it, or -1
	Gate        ordering.Gate
	Timeout     time.Duration
	After       []ordering.Barrier
	At          ArgoPlace // for sync waves
	// Implied is set for the layer of unmatched resources of an order that does not say
	// where it is.
	Implied bool
}

// Membership puts a resource into a set: after its entry and before its exit.
// Either half may be weaker than a declared edge, or absent.
type Membership struct {
	Resource, Set int
	In, Out       graph.Strength
}

// NoEdge means that this half of the membership has no edge.
const NoEdge = graph.Hard + 1

// Placement says how a resource got its place.
type Placement uint8

// Values of Placement.
const (
	Unplaced  Placement = iota
	Placed              // by its author
	ByDefault           // by a rule that the author did not write, such as Argo CD's wave 0
	Unmatched           // a SortOrder stamped it, but none of its selectors matched it
	Early               // a prerequisite, such as a CRD or Namespace, that nothing placed
)

// Layers are the sets of a stream and the places of its resources.
type Layers struct {
	Sets          []Set
	Members       []Membership
	Placements    []Placement             // per resource
	LayerOf       []int                   // per resource: the set that placed it, or -1
	Prerequisites int                     // the set of CRDs and Namespaces, or -1
	SetExternals  map[int][]ordering.Need // per set: its resources that are not part of the plan
}

func newLayers(resources int) Layers {
	l := Layers{Placements: make([]Placement, resources), LayerOf: make([]int, resources), Prerequisites: -1, SetExternals: map[int][]ordering.Need{}}
	for i := range l.LayerOf {
		l.LayerOf[i] = -1
	}
	return l
}

// AddSet adds a set and returns its index.
func (l *Layers) AddSet(s Set) int {
	l.Sets = append(l.Sets, s)
	return len(l.Sets) - 1
}

// Join adds a resource to a set.
func (l *Layers) Join(resource, set int, in, out graph.Strength) {
	l.Members = append(l.Members, Membership{resource, set, in, out})
}

// Entry returns the vertex before a set. The resources' vertices precede it.
func (l *Layers) Entry(set int) int32 { return int32(len(l.Placements) + 2*set) }

// Exit returns the vertex after a set.
func (l *Layers) Exit(set int) int32 { return l.Entry(set) + 1 }

// Vertices returns the number of vertices of resources and sets.
func (l *Layers) Vertices() int { return len(l.Placements) + 2*len(l.Sets) }

// IsSetVertex reports whether a vertex is the entry or the exit of a set.
func (l *Layers) IsSetVertex(v int32) bool {
	return int(v) >= len(l.Placements) && int(v) < l.Vertices()
}

// SetEdges returns the edges of the sets and their memberships.
func (l *Layers) SetEdges() []graph.Edge {
	edges := make([]graph.Edge, 0, 4*len(l.Sets)+2*len(l.Members)) // an own one, two around it and one barrier for most sets
	for s, set := range l.Sets {
		in := ordering.Reason{Rule: ordering.Rule(set.Kind), Detail: "part of " + set.Name}
		edges = append(edges, graph.Edge{From: l.Entry(s), To: l.Exit(s), Gate: ordering.Applied, Strength: graph.Hard, Why: in})
		if w := set.Within; w >= 0 {
			around := ordering.Reason{Rule: ordering.Rule(set.Kind), Detail: set.Name + " is part of " + l.Sets[w].Name}
			edges = append(edges,
				graph.Edge{From: l.Entry(w), To: l.Entry(s), Gate: ordering.Applied, Strength: graph.Hard, Why: around},
				graph.Edge{From: l.Exit(s), To: l.Exit(w), Gate: ordering.Applied, Strength: graph.Hard, Why: around})
		}
		for _, b := range set.After {
			edges = append(edges, graph.Edge{From: l.Exit(b.Layer), To: l.Entry(s), Weight: 1, Strength: graph.Hard, Why: b.Why})
		}
	}
	members := make([]ordering.Reason, len(l.Sets))
	for s, set := range l.Sets {
		members[s] = ordering.Reason{Rule: ordering.Rule(set.Kind), Detail: "is in " + set.Name}
	}
	for _, m := range l.Members {
		why := members[m.Set]
		if m.In != NoEdge {
			edges = append(edges, graph.Edge{From: l.Entry(m.Set), To: int32(m.Resource), Gate: ordering.Applied, Strength: m.In, Why: why})
		}
		if m.Out != NoEdge {
			edges = append(edges, graph.Edge{From: int32(m.Resource), To: l.Exit(m.Set), Gate: l.Sets[m.Set].Gate, Strength: m.Out, Why: why})
		}
	}
	return edges
}

// SetOf returns the set of a vertex, which is none of a resource.
func (l *Layers) SetOf(v int32) int { return (int(v) - len(l.Placements)) / 2 }

// Title returns the set's name for use in a sentence.
func (s Set) Title() string {
	switch s.Kind {
	case ordering.Stamped, ordering.Application:
		return string(s.Kind) + " " + s.Name
	case ordering.HelmGroup:
		return "group " + s.Name
	}
	return s.Name
}

func excludedReason(s Set) ordering.Reason {
	return ordering.Reason{Rule: ordering.RuleExcluded, Detail: s.Title() + " comes first, and the selection excludes this part of it"}
}

// addSetExternal records that a set contains a resource that is not part of the
// plan.
func (l *Layers) addSetExternal(set int, id object.ID, why ordering.Reason) {
	l.SetExternals[set] = append(l.SetExternals[set], ordering.Need{ID: id, Gate: l.Sets[set].Gate, Why: why, Hard: true})
}
