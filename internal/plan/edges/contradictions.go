package edges

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// contradiction explains why an inferred edge cannot be kept, and how to fix
// it.
func (b *Dependencies) contradiction(c graph.Contradiction) string {
	needer, needed := b.ends(c.Edge)
	early, late, ok := b.layersBetween(c.Edge)
	if !ok {
		var steps []string
		for _, e := range b.Describe(c.Path) {
			steps = append(steps, e.String())
		}
		return fmt.Sprintf("%s needs %s (%s) and would wait forever, because %s; remove one of these edges", needer, needed, c.Edge.Why.Located(), strings.Join(steps, ", and "))
	}
	return fmt.Sprintf("%s (%s) needs %s (%s), which %s places after it: %s; %s",
		needer, early.Title(), needed, c.Edge.Why, late.Title(), outcome(c.Edge, early), b.fix(early, needed.String()))
}

// outcome describes the effect of dropping an edge.
func outcome(e graph.Edge, early Set) string {
	if e.Strength == graph.Exists {
		return "the API server would reject it"
	}
	return early.Title() + " would wait forever"
}

// ends returns the two resources of an edge.
func (b *Dependencies) ends(e graph.Edge) (needer, needed object.ID) {
	from, _ := b.ResourceOf(e.From)
	to, _ := b.ResourceOf(e.To)
	return b.Resources[to].ID, b.Resources[from].ID
}

// layersBetween returns the layers that place the ends of an edge in the wrong
// order; ok is false if the cause is something else.
func (b *Dependencies) layersBetween(e graph.Edge) (early, late Set, ok bool) {
	from, _ := b.ResourceOf(e.From)
	to, _ := b.ResourceOf(e.To)
	if b.LayerOf[from] < 0 || b.LayerOf[to] < 0 || b.LayerOf[from] == b.LayerOf[to] || b.Placements[from] != Placed || b.Placements[to] != Placed {
		return early, late, false
	}
	return b.Sets[b.LayerOf[to]], b.Sets[b.LayerOf[from]], true
}

// fix suggests how to place a resource before its dependent.
func (b *Dependencies) fix(early Set, needed string) string {
	switch early.Kind {
	case ordering.ArgoWave:
		return fmt.Sprintf("give %s the hook and wave of %s or of an earlier one", needed, early.Name)
	case ordering.HelmGroup:
		return fmt.Sprintf("put %s into group %s, into a group that it depends on, or into no group, so that it goes before its dependents", needed, early.Short)
	case ordering.Application:
		return fmt.Sprintf("make application %s or one that it depends on select %s, or make none select it, so that it goes before its dependents", early.Name, needed)
	}
	return fmt.Sprintf("make a selector of %s or of an earlier layer match %s, or make none match it, so that it goes before its dependents", early.Short, needed)
}

func (b *Dependencies) describeEarly(c graph.Contradiction) string {
	needer, needed := b.ends(c.Edge)
	if early, late, ok := b.layersBetween(c.Edge); ok {
		return fmt.Sprintf("%[1]s is applied before %[2]s, which it needs (%[3]s): %[4]s comes before %[5]s, which waits only until %[4]s is applied",
			needer, needed, c.Edge.Why, early.Title(), late.Title())
	}
	return fmt.Sprintf("%s is applied before %s, which it needs (%s): %s", needer, needed, c.Edge.Why, b.Describe(c.Path)[0])
}
