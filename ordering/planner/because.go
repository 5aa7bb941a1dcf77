package planner

import (
	"strings"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// why returns the reason for a resource's wave.
func (b *planner) why(v int32) ordering.Reason {
	at := b.Placements[v]
	switch {
	case b.Floating[v]:
		return b.whyFloating(v)
	case at == edges.Early:
		if pushed := b.pushedBy(v); pushed != nil && !b.isPrerequisites(pushed.From) {
			return b.whyPushed(*pushed)
		}
		if b.Resources[v].ID.IsCRD() || b.Resources[v].ID.IsNamespace() {
			return ordering.Reason{Rule: ordering.RulePrerequisite, Detail: b.whyFirst()}
		}
		return ordering.Reason{Rule: ordering.RulePrerequisite, Detail: "its kind is a prerequisite kind"}
	}
	pushed := b.pushedBy(v)
	switch {
	case pushed != nil && b.AllPlaced >= 0 && pushed.From == b.Exit(b.AllPlaced):
		return ordering.Reason{Rule: "unplaced", Detail: b.unplacedReason(v) + " and nothing depends on it: it goes last"}
	case pushed != nil:
		return b.whyPushed(*pushed)
	case at == edges.Unmatched:
		return ordering.Reason{Rule: "unmatched", Detail: "no selector matches it and nothing depends on it: it goes to layer " + b.Sets[b.LayerOf[v]].Name}
	case at == edges.Placed || at == edges.ByDefault:
		return because(b.Sets[b.LayerOf[v]], at)
	}
	return ordering.Reason{Rule: ordering.RuleReferences, Detail: "no dependencies in this stream"}
}

// whyFirst returns why a CRD or a Namespace goes first: without an order, no selector could
// have matched it.
func (b *planner) whyFirst() string {
	if b.OrderSource == ordering.OrderSourceNone {
		return "CRDs and Namespaces go first"
	}
	return "no selector matches it, and CRDs and Namespaces go first"
}

func (b *planner) unplacedReason(v int32) string {
	switch {
	case b.Placements[v] == edges.Unmatched:
		return "no selector matches it"
	case b.OrderSource == ordering.OrderSourceStamps:
		return "it has no stamp"
	}
	return "nothing places it"
}

// whyFloating names the first dependent of a resource and the reference.
func (b *planner) whyFloating(v int32) ordering.Reason {
	e := b.earliestDependent(v)
	if e == nil && b.NeededOutside[v] {
		return ordering.Reason{Rule: ordering.RuleNeeded, Detail: "a resource that the selection excludes uses it"}
	}
	if e == nil {
		return ordering.Reason{Rule: ordering.RuleNeeded, Detail: b.unplacedReason(v) + " and nothing depends on it: it waits for no layer"}
	}
	id := b.Resources[v].ID
	how := strings.TrimSuffix(e.Why.Detail, " names "+id.Kind+" "+id.Name)
	detail := "before " + b.VertexName(e.To) + ", which uses it (" + how + ")"
	if b.Placements[v] == edges.ByDefault {
		detail += "; " + b.Sets[b.LayerOf[v]].Name + " is only its default place"
	}
	return ordering.Reason{Rule: ordering.RuleNeeded, Detail: detail}
}

// pushedBy returns the edge that moved a resource past the start of its place,
// or past rank 0 if it has no place; nil if there is none. Edges from resources
// take precedence over edges from layers, and ready edges over applied ones.
// For an edge from a change group it returns the edge that moved the group.
func (b *planner) pushedBy(v int32) *graph.Edge {
	var best *graph.Edge
	if b.IsResource(v) && b.LayerOf[v] >= 0 && b.rank[v] <= b.startOf(v) {
		return nil
	}
	for _, i := range b.graph.In.Of(v) {
		e := &b.Kept[i]
		if b.rank[e.From]+int(e.Weight) != b.rank[v] {
			continue
		}
		if b.isEntry(e.From, ordering.ChangeGroup) {
			if e = b.pushedBy(e.From); e == nil {
				continue
			}
		}
		if best == nil || b.IsResource(e.From) && (!b.IsResource(best.From) || e.Weight > best.Weight) {
			best = e
		}
	}
	return best
}

// startOf returns the rank at which a resource's place starts.
func (b *planner) startOf(v int32) int {
	start := 0
	for _, i := range b.graph.In.Of(v) {
		e := &b.Kept[i]
		if !b.IsResource(e.From) && b.Sets[b.SetOf(e.From)].Kind != ordering.ChangeGroup {
			start = max(start, b.rank[e.From]+int(e.Weight))
		}
	}
	return start
}

func (b *planner) isPrerequisites(v int32) bool {
	return !b.IsResource(v) && b.Sets[b.SetOf(v)].Kind == ordering.Prerequisites
}

// isEntry reports whether a vertex is the entry of a set of the given kind.
func (b *planner) isEntry(v int32, kind ordering.LayerKind) bool {
	return !b.IsResource(v) && v == b.Entry(b.SetOf(v)) && b.Sets[b.SetOf(v)].Kind == kind
}

// whyPushed returns the edge that moved a resource as a place: "after ServiceAccount web
// (serviceAccountName)".
func (b *planner) whyPushed(e graph.Edge) ordering.Reason {
	switch {
	case b.IsResource(e.From):
		return ordering.Reason{Detail: b.after(e), Where: e.Why.Where}
	case b.isPrerequisites(e.From):
		return ordering.Reason{Rule: ordering.RulePrerequisites, Detail: "after CRDs and Namespaces"}
	}
	return e.Why
}

// after returns an edge from a resource as its dependent's place.
func (b *planner) after(e graph.Edge) string {
	from, _ := b.ResourceOf(e.From)
	id := b.Resources[from].ID
	full := id.String()
	if to, ok := b.ResourceOf(e.To); ok && id.Namespace == b.Resources[to].ID.Namespace {
		id.Namespace = ""
	}
	where, named := cutName(e.Why.Detail, full, id.String())
	switch {
	case named && e.Gate != ordering.Applied:
		return "after " + id.String() + " is " + e.Gate.String() + " (" + where + ")"
	case named:
		return "after " + id.String() + " (" + where + ")"
	case e.Gate != ordering.Applied:
		return e.Why.Detail + ", " + e.Gate.String()
	}
	return e.Why.Detail
}

// cutName returns the detail of an edge without the resource that it names at its end:
// "serviceAccountName", or "its kind is provided by it".
func cutName(detail string, names ...string) (string, bool) {
	for _, name := range names {
		if where, named := strings.CutSuffix(detail, " names "+name); named {
			return where, true
		}
		if where, named := strings.CutSuffix(detail, " by "+name); named {
			return where + " by it", true
		}
	}
	return detail, false
}

// because returns the reason of a resource that a set placed.
func because(s edges.Set, at edges.Placement) ordering.Reason {
	switch {
	case s.Kind == ordering.HelmChart:
		return ordering.Reason{Rule: ordering.Rule(s.Kind), Detail: s.Short}
	case s.Kind == ordering.ArgoWave && at == edges.ByDefault:
		return ordering.Reason{Rule: ordering.Rule(s.Kind), Detail: s.Name + ", by default"}
	}
	return ordering.Reason{Rule: ordering.Rule(s.Kind), Detail: s.Name}
}
