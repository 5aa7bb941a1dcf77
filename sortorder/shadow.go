package sortorder

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// checkShadows reports selectors that can never match because earlier ones
// match everything they would, and a listed rest to which nothing is left. The
// check is exact: a selector is valid if a resource exists that only it would
// match. It returns warnings for selectors that could not be decided within the
// limit.
func (o *Order) checkShadows(problems *Problems) (undecided Problems) {
	u, all := o.rivals()
	f := &search{u: u}
	for i := range o.selectors {
		f.steps = maxSteps
		rivals := o.rivalsOf(i, all)
		target := u.within(all[i].choices)
		switch _, result := f.witness(target, rivals); result {
		case none:
			problems.add(o.path(i), "%s", o.shadowMessage(f, i, all, rivals))
		case gaveUp:
			undecided.add(o.path(i), "is too complex to decide whether earlier selectors leave it anything to match")
		}
	}
	return undecided
}

// rivals returns all selectors in the universe that they distinguish.
func (o *Order) rivals() (*universe, []rival) {
	u := newUniverse(o.selectors)
	all := make([]rival, len(o.selectors))
	for i, s := range o.selectors {
		all[i] = rival{number: i, choices: u.choices(s)}
	}
	return u, all
}

// rivalsOf returns the selectors that precede selector i: earlier ones; for the
// rest, all others.
func (o *Order) rivalsOf(i int, all []rival) []rival {
	if !o.selectors[i].unmatched {
		all = all[:i]
	}
	return slices.DeleteFunc(slices.Clone(all), func(r rival) bool { return o.selectors[r.number].unmatched })
}

// shadowMessage names selectors that together cover selector i, and a remedy.
func (o *Order) shadowMessage(f *search, i int, all, rivals []rival) string {
	target := f.u.within(all[i].choices)
	var names []string
	for _, r := range f.cover(target, rivals) {
		names = append(names, o.Describe(r.number))
	}
	by := strings.Join(names, ", ") + " matches"
	if len(names) > 1 {
		by = strings.Join(names, ", ") + " together match"
	}
	if o.selectors[i].unmatched {
		return fmt.Sprintf("has nothing left to match: %s everything; remove the unmatched entry, or narrow one of them", by)
	}
	return fmt.Sprintf("(%s) can never match: %s everything it selects; %s", o.selectors[i].text, by, o.remedy(f, i, all, rivals))
}

// remedy says where selector i would match something, or that only removing it
// helps: before a selector with the same matches it would only shadow that one
// instead.
func (o *Order) remedy(f *search, i int, all, rivals []rival) string {
	target := f.u.within(all[i].choices)
	// With more selectors before it, less is left. So the last position at
	// which something is left can be found by binary search.
	at := sort.Search(len(rivals), func(n int) bool { return f.covers(rivals[:n+1], target) })
	if at == len(rivals) {
		return "remove it"
	}
	blocker := rivals[at]
	if f.covers(append(slices.Clone(rivals[:at]), all[i]), f.u.within(blocker.choices)) {
		return fmt.Sprintf("remove it, or %s", o.path(blocker.number))
	}
	return fmt.Sprintf("move it before %s, or remove it", o.path(blocker.number))
}

// Example returns a resource that only this entry of sortOrder would match. It
// omits values that no selector tests; "other" stands for a value that no
// selector names. ok is false if the search gave up; selector must be an index.
func (o *Order) Example(selector int) (m object.Meta, ok bool) {
	u, all := o.rivals()
	f := &search{u: u, steps: maxSteps}
	left, result := f.witness(u.within(all[selector].choices), o.rivalsOf(selector, all))
	if result != found {
		return m, false
	}
	return u.meta(left), true
}
