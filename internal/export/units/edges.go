package units

import (
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/ordering"
)

// Lost is something in a plan that the exported units cannot keep.
type Lost struct {
	Step   int    // index into Plan.Steps
	Detail string // "does not wait for Secret shop/login, which is outside the stream"
}

// connect sets the predecessors of each unit, and sorts the units by them.
func (c *cutter) connect() {
	after := make([]map[int]bool, len(c.units))
	for u := range after {
		after[u] = map[int]bool{}
	}
	members := c.members()
	for i, s := range c.plan.Steps {
		for _, n := range s.Needs {
			c.follow(after, i, n)
		}
		for _, n := range slices.Concat(s.Needs, s.External) {
			if n.Why.Rule == ordering.RuleMutation {
				c.lost = append(c.lost, Lost{i, "is applied with its placeholders: " + n.Why.Detail + " (" + mutation.Annotation + ")"})
			}
		}
		for _, barrier := range s.After {
			for before := range members[barrier.Layer] {
				after[c.within[i]][before] = true
			}
		}
		for _, n := range s.External {
			c.lost = append(c.lost, Lost{i, "does not wait for " + n.ID.String() + ", which is outside the stream"})
		}
	}
	for u := range after {
		delete(after[u], u)
	}
	c.keepInferred(after)
	c.arrange(after)
}

// follow adds the edges of a need on another unit. Edges inferred within a wave come
// later, in keepInferred.
func (c *cutter) follow(after []map[int]bool, i int, n ordering.Need) {
	from := c.at[n.ID]
	if c.plan.Steps[from].Wave == c.plan.Steps[i].Wave && !n.Hard {
		return
	}
	after[c.within[i]][c.within[from]] = true
	if n.Gate == ordering.Ready {
		for _, u := range c.checkers(from) {
			after[c.within[i]][u] = true
		}
	}
}

// members returns for each layer the units that must be ready for it to be done: the units
// of its resources, of layers within it, and of the layers it comes after.
func (c *cutter) members() []map[int]bool {
	own := make([]map[int]bool, len(c.plan.Layers))
	for l := range own {
		own[l] = map[int]bool{}
	}
	for i, s := range c.plan.Steps {
		for _, l := range s.Layers {
			for ; l >= 0; l = c.plan.Layers[l].Within {
				own[l][c.within[i]] = true
				if s.Gate == ordering.Ready && s.ReadyBy == s.Wave {
					for _, u := range c.checkers(i) {
						own[l][u] = true
					}
				}
			}
		}
	}
	all := make([]map[int]bool, len(c.plan.Layers))
	var collect func(l int) map[int]bool
	collect = func(l int) map[int]bool {
		if all[l] == nil {
			all[l] = maps.Clone(own[l])
			for _, b := range c.plan.Layers[l].After {
				maps.Copy(all[l], collect(b.Layer))
			}
		}
		return all[l]
	}
	for l := range all {
		collect(l)
	}
	return all
}

// keepInferred adds the edges that were inferred between units of one wave, except edges
// that contradict others: only the sequence of requests is at stake.
func (c *cutter) keepInferred(after []map[int]bool) {
	for i, s := range c.plan.Steps {
		for _, n := range s.Needs {
			from := c.at[n.ID]
			u, before := c.within[i], c.within[from]
			if n.Hard || u == before || c.plan.Steps[from].Wave != s.Wave || after[u][before] {
				continue
			}
			if reaches(after, before, u) {
				c.lost = append(c.lost, Lost{i, "may be applied before " + n.ID.String() + ", because the layers of the two use each other"})
				continue
			}
			after[u][before] = true
		}
	}
}

// reaches reports whether a unit comes after another, directly or not.
func reaches(after []map[int]bool, from, to int) bool {
	seen := map[int]bool{from: true}
	for next := []int{from}; len(next) > 0; next = next[1:] {
		if next[0] == to {
			return true
		}
		for u := range after[next[0]] {
			if !seen[u] {
				seen[u] = true
				next = append(next, u)
			}
		}
	}
	return false
}

// arrange sorts the units so that each follows its predecessors, and drops the edges that
// others imply.
func (c *cutter) arrange(after []map[int]bool) {
	var order []int
	done := make([]bool, len(c.units))
	var visit func(u int)
	visit = func(u int) {
		if done[u] {
			return
		}
		done[u] = true
		for _, before := range slices.Sorted(maps.Keys(after[u])) {
			visit(before)
		}
		order = append(order, u)
	}
	for u := range c.units {
		visit(u)
	}
	position := make([]int, len(order))
	units := make([]Unit, len(order))
	for at, u := range order {
		position[u], units[at] = at, c.units[u]
		for before := range after[u] {
			units[at].After = append(units[at].After, position[before])
		}
		slices.Sort(units[at].After)
	}
	c.units = units
	for i := range c.within {
		c.within[i] = position[c.within[i]]
	}
	c.reduce()
}

// reduce drops the edges that others imply.
func (c *cutter) reduce() {
	above := make([]map[int]bool, len(c.units)) // all units before, directly or not
	for u := range c.units {
		above[u] = map[int]bool{}
		implied := map[int]bool{}
		for _, before := range c.units[u].After {
			maps.Copy(implied, above[before])
			above[u][before] = true
		}
		maps.Copy(above[u], implied)
		c.units[u].After = slices.DeleteFunc(c.units[u].After, func(before int) bool { return implied[before] })
	}
}
