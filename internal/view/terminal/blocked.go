package terminal

import (
	"fmt"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// blocked returns the resources that cannot start before a resource makes
// progress, directly or transitively, nearest first.
func (v *View) blocked(i int) []int {
	applied := v.run.Resources[i].State == event.Waiting
	all, known := v.waiting[blocker{i, applied}]
	if !known {
		all = v.allBlocked(i, applied)
		v.waiting[blocker{i, applied}] = all
	}
	var still []int
	for _, n := range all {
		if v.run.Resources[n].State == event.Pending {
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

// blocks describes, within a number of columns, the dependents and waves that a resource
// blocks; "" if none.
func (v *View) blocks(i, columns int) string {
	blocked, waves := v.blocked(i), v.blockedWaves(i)
	if len(blocked) == 0 {
		if Width(waves) > columns {
			return ""
		}
		return waves
	}
	more := ""
	if len(blocked) > 1 {
		more = fmt.Sprintf(" and %d more", len(blocked)-1)
	}
	room := columns - len("blocks ") - len(more)
	if room < leastLabel {
		return fitting(columns, fmt.Sprintf("blocks %d more", len(blocked)), fmt.Sprintf("blocks %d", len(blocked)))
	}
	first := v.run.Resources[blocked[0]].ID
	short := "blocks " + label(first, room) + more
	if waves == "" {
		return short
	}
	return fitting(columns, "blocks "+plain.Line(first.String())+more+", "+waves, short+", "+waves, short)
}

// blockedWaves names the waves that cannot open before a resource makes progress; ""
// if there are none, or no wave will open any more.
func (v *View) blockedWaves(i int) string {
	r, step := &v.run.Resources[i], v.run.Plan.Steps[i]
	if !v.inWave() || v.interrupted || v.isStuck() {
		return ""
	}
	first := v.run.Open + 1
	switch {
	case r.State.Final(), r.State == event.Waiting && step.Gate == ordering.Applied:
		return ""
	case r.State == event.Waiting:
		first = max(first, step.ReadyBy+1)
	}
	switch last := len(v.run.Waves); last - first {
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
