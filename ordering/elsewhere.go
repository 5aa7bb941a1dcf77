package ordering

import "slices"

// isElsewhere tells whether a group that a declaration names holds nothing but
// resources that are no part of the plan. Nobody waits for such a group: what is
// in it by now, only the cluster knows. That is noted.
func (d *declarations) isElsewhere(what, name string, in func(r Resource, name string) bool) bool {
	if !slices.ContainsFunc(d.options.Elsewhere, func(r Resource) bool { return in(r, name) }) {
		return false
	}
	note := "all of " + what + " " + name + " is left out: nothing waits for it"
	if !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
	return true
}
