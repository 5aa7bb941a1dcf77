package draft

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
)

// proposal is an order in the making.
type proposal struct {
	*edges.Dependencies
	by        string
	narrow    map[string]schema.GroupKind // by selector: the only kind that it may match
	groups    []group
	groupOf   []int // per resource; -1 if none
	relations []relation
	uses      []graph.Edge   // beyond the edges: from controllers to their custom resources, and from mentioned resources to their users
	level     []int          // per group
	knot      []int32        // per group: the same number for groups that need each other, if all relations counted
	circle    []int32        // per group: the same number for groups that need each other
	behind    []map[int]bool // per group: groups whose readiness it awaits
	depth     []int          // per vertex: the groups on the longest path to it
}

func newProposal(d *edges.Dependencies) *proposal {
	return &proposal{Dependencies: d, groupOf: slices.Repeat([]int{-1}, len(d.Resources))}
}

// group is the resources that one selector matches.
type group struct {
	selector selector
	title    string // the name of its layer
	members  []int
}

// relation says that one group comes before another, and why.
type relation struct {
	from, to int
	why      string
	byAuthor bool // the author's own order, which is kept even on a cycle
	guess    bool // of no interest beside a reason
}

func (p *proposal) add(g group) {
	for _, i := range g.members {
		p.groupOf[i] = len(p.groups)
	}
	p.groups = append(p.groups, g)
}

// kinds counts resources by kind: "2 Deployments, 1 Service".
func kinds(ids []object.ID) string {
	counts := map[string]int{}
	var names []string
	for _, id := range ids {
		if counts[id.Kind]++; counts[id.Kind] == 1 {
			names = append(names, id.Kind)
		}
	}
	return joined(names, 6, func(kind string) string { return plain.Count(counts[kind], kind) })
}

// ids returns the IDs of a group's resources.
func (p *proposal) ids(members []int) []object.ID {
	var out []object.ID
	for _, i := range members {
		out = append(out, p.Resources[i].ID)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
