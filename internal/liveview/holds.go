package liveview

import (
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/terminal"
	"github.com/ordapply/ordapply/ordering"
)

// dependent is a resource that needs another, with the gate from which it may
// start.
type dependent struct {
	resource int
	gate     ordering.Gate
}

// blocker is a resource, and whether it is applied: then only dependents with gate
// Ready wait for it.
type blocker struct {
	resource int
	applied  bool
}

func (v *View) indexDependents() {
	v.dependents = make([][]dependent, len(v.resources))
	for i, s := range v.plan.Steps {
		for _, need := range s.Needs {
			if n, ok := v.byID[need.ID]; ok {
				v.dependents[n] = append(v.dependents[n], dependent{i, need.Gate})
			}
		}
	}
}

// blocked returns the resources that cannot start before a resource makes
// progress, directly or transitively, nearest first.
func (v *View) blocked(i int) []int {
	applied := v.resources[i].state == apply.Waiting
	all, known := v.held[blocker{i, applied}]
	if !known {
		all = v.allBlocked(i, applied)
		v.held[blocker{i, applied}] = all
	}
	var still []int
	for _, n := range all {
		if v.resources[n].state == apply.Pending {
			still = append(still, n)
		}
	}
	return still
}

func (v *View) allBlocked(i int, applied bool) []int {
	var all []int
	seen := map[int]bool{i: true}
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		for _, f := range v.dependents[queue[0]] {
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

// leastLabel is the minimum width for the name of a resource.
const leastLabel = 16

// blocks describes, within a number of columns, what a resource blocks:
// dependents and waves; "" if nothing.
func (v *View) blocks(i, columns int) string {
	held, waves := v.blocked(i), v.blockedWaves(i)
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

// blockedWaves names the waves that cannot open before a resource makes progress; ""
// if there are none, or no wave will open any more.
func (v *View) blockedWaves(i int) string {
	r, step := &v.resources[i], v.plan.Steps[i]
	if !v.inWave() || v.interrupted || v.isStuck() {
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
