package liveview

import (
	"fmt"

	"github.com/ordapply/ordapply/apply"
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

// blocks says within a number of columns whom a resource holds up; "" when that
// is nobody.
func (v *View) blocks(i, columns int) string {
	held := v.blocked(i)
	if len(held) == 0 {
		return ""
	}
	more := ""
	if len(held) > 1 {
		more = fmt.Sprintf(" and %d more", len(held)-1)
	}
	return "blocks " + label(v.resources[held[0]].id, columns-len("blocks ")-len(more)) + more
}
