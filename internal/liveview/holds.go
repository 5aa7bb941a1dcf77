package liveview

import (
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/terminal"
	"github.com/ordapply/ordapply/ordering"
)

// follower is a resource that needs another, and from which gate on it may
// start.
type follower struct {
	resource int
	gate     ordering.Gate
}

// hold is a resource and whether it is applied: then only those that need it
// ready wait for it.
type hold struct {
	resource int
	applied  bool
}

func (v *View) follow() {
	v.followers = make([][]follower, len(v.resources))
	for i, s := range v.plan.Steps {
		for _, need := range s.Needs {
			if n, ok := v.byID[need.ID]; ok {
				v.followers[n] = append(v.followers[n], follower{i, need.Gate})
			}
		}
	}
}

// blocked are the resources that cannot start before a resource gets further,
// directly or through others, nearest first.
func (v *View) blocked(i int) []int {
	applied := v.resources[i].state == apply.Waiting
	all, known := v.held[hold{i, applied}]
	if !known {
		all = v.holds(i, applied)
		v.held[hold{i, applied}] = all
	}
	var still []int
	for _, n := range all {
		if v.resources[n].state == apply.Pending {
			still = append(still, n)
		}
	}
	return still
}

func (v *View) holds(i int, applied bool) []int {
	var all []int
	seen := map[int]bool{i: true}
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		for _, f := range v.followers[queue[0]] {
			if seen[f.resource] || queue[0] == i && applied && f.gate == ordering.Applied {
				continue
			}
			seen[f.resource] = true
			all = append(all, f.resource)
			queue = append(queue, f.resource)
		}
	}
	return all
}

// leastLabel is how many columns it takes to name a resource at all.
const leastLabel = 16

// blocks says within a number of columns what a resource holds up: others that
// need it, and waves; "" when that is nothing.
func (v *View) blocks(i, columns int) string {
	held, waves := v.blocked(i), v.closes(i)
	if len(held) == 0 {
		if terminal.Width(waves) > columns {
			return ""
		}
		return waves
	}
	more := ""
	if len(held) > 1 {
		more = fmt.Sprintf(" and %d more", len(held)-1)
	}
	room := columns - len("blocks ") - len(more)
	if room < leastLabel {
		return fitting(columns, fmt.Sprintf("blocks %d more", len(held)), fmt.Sprintf("blocks %d", len(held)))
	}
	first := v.resources[held[0]].id
	short := "blocks " + label(first, room) + more
	if waves == "" {
		return short
	}
	return fitting(columns, "blocks "+plain.Line(first.String())+more+", "+waves, short+", "+waves, short)
}

// closes says which waves cannot open before a resource gets further; "" when it
// holds up none, or none will open any more.
func (v *View) closes(i int) string {
	r, step := &v.resources[i], v.plan.Steps[i]
	if !v.inWave() || v.interrupted || v.stuck() {
		return ""
	}
	first := v.open + 1
	switch {
	case r.state.Final(), r.state == apply.Waiting && step.Gate == ordering.Applied:
		return ""
	case r.state == apply.Waiting:
		first = max(first, step.ReadyBy+1)
	}
	switch last := len(v.waves); last - first {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("holds up wave %d", last)
	case 2:
		return fmt.Sprintf("holds up waves %d and %d", last-1, last)
	default:
		return fmt.Sprintf("holds up waves %d to %d", first+1, last)
	}
}
