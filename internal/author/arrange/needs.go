package arrange

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// Emitter writes an order in the annotations of other tools, for use without ordapply.
type Emitter struct {
	Problems []EmitProblem // found so far, in the order found

	stream     Stream
	plan       *Plan            // nil: nothing but the layers is known
	dependents [][]int          // of each resource, by the plan
	layers     []int            // the rank of a resource's layer; -1 for other orders and for resources that come before their dependents
	members    map[string][]int // the resources of each layer, ours and others', by order/layer
	alone      []bool           // whether other resources need it in addition to layers
	hasFirst   bool             // whether some resources come before everything

	direct map[int][]string       // cache of directNeeds, by layer
	kptOf  map[int]dependsOnValue // by layer
	kptOff bool                   // kpt's values exceed the total limit
}

// EmitProblem is an error or a warning for the author of an order.
type EmitProblem struct {
	Resource int    // index of the resource it is about; -1 for the order
	Message  string // without the subject
	Fails    bool   // an error; otherwise a warning
}

// dependsOnValue is the list of the members of the preceding layers, for kpt.
type dependsOnValue struct {
	text  string
	count int // number of resources
}

func (e *Emitter) fail(resource int, format string, args ...any) {
	e.Problems = append(e.Problems, EmitProblem{resource, fmt.Sprintf(format, args...), true})
}

func (e *Emitter) warn(resource int, format string, args ...any) {
	e.Problems = append(e.Problems, EmitProblem{resource, fmt.Sprintf(format, args...), false})
}

// comesBefore reports whether one layer of ours waits for another.
func (e *Emitter) comesBefore(before, rank int) bool {
	layer := e.stream.Order.Layers[rank]
	if layer.Needs == nil {
		return before < rank
	}
	return slices.Contains(layer.Needs, e.stream.Order.Name+"/"+e.stream.Order.Layers[before].Name)
}

// first reports whether the resource comes before everything: a CRD or
// Namespace without needs.
func (e *Emitter) first(i int) bool {
	return e.plan.Early(i) && ordering.IsPrerequisite(e.stream.Metas[i].ID) && len(e.plan.Steps[i].Needs) == 0
}

// single returns the resources that a resource waits for in addition to the
// layers before its own: unmatched ones, all of them if it is unmatched itself,
// and within its layer those with gate Ready. Needs with gate Applied are
// omitted if the resource may not become ready at once, since other tools would
// wait for that.
func (e *Emitter) single(i int) []int {
	if e.plan == nil || e.plan.Steps[i] == nil {
		return nil
	}
	var out []int
	for _, need := range e.plan.Steps[i].Needs {
		at := e.plan.At(need.ID)
		within := e.layers[i] >= 0 && e.layers[i] == e.layers[at]
		beyond := e.layers[i] >= 0 && e.layers[at] >= 0 && e.layers[i] != e.layers[at] && !e.comesBefore(e.layers[at], e.layers[i])
		extra := e.plan.Early(at) || e.plan.Early(i) || e.plan.Late(at) || e.plan.Late(i) || beyond || within && need.Gate == ordering.Ready
		if at != i && extra && !e.first(at) && (need.Gate == ordering.Ready || planner.ReadyWhenApplied(need.ID)) {
			out = append(out, at)
		}
	}
	return out
}

// companion returns the resource with which an unmatched resource is applied if
// it may become ready only when it is used: its first dependent in the same
// wave; -1 if none.
func (e *Emitter) companion(i int) int {
	if !e.plan.Early(i) || planner.ReadyWhenApplied(e.stream.Metas[i].ID) {
		return -1
	}
	best := -1
	for _, j := range e.dependents[i] {
		if e.stream.Ours[j] && e.plan.Steps[j].Wave == e.plan.Steps[i].Wave && (best < 0 || object.Compare(e.stream.Metas[j].ID, e.stream.Metas[best].ID) < 0) {
			best = j
		}
	}
	return best
}

// companions returns a resource followed by its chain of companions.
func (e *Emitter) companions(i int) []int {
	all := []int{i}
	for j := e.companion(i); j >= 0; j = e.companion(j) {
		all = append(all, j)
	}
	return all
}

// users returns all resources that wait for a resource, directly or
// transitively.
func (e *Emitter) users(i int) map[int]bool {
	seen := map[int]bool{i: true}
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		for _, j := range e.dependents[queue[0]] {
			if !seen[j] {
				seen[j] = true
				queue = append(queue, j)
			}
		}
	}
	return seen
}
