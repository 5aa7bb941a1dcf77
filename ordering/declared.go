package ordering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// declarations is what authors declared: edges between resources, sets of
// resources, and which of these wait for which.
type declarations struct {
	*index
	options       Options
	skipped       map[object.ID]Reason
	edges         []edge
	external      map[int][]Need // by resource
	sets          []set
	members       []membership
	frame         Frame
	standing      []standing       // per resource
	layerOf       []int            // per resource: the set that placed it; -1
	prerequisites int              // the set of CRDs and Namespaces; -1
	deleteRules   []changeRule     // kapp's about deleting
	changeMembers map[string][]int // of kapp's change groups
	elsewhere     map[object.ID]bool
	leftOut       []Resource     // of elsewhere, without hooks
	outside       map[int][]Need // by set: what it holds that is no part of the plan
	errs          []error
	notes         []string
	suggestions   int
}

// declare reads every declaration of a stream. Its errors are all that is
// wrong with them; what could be read is there nevertheless.
func declare(ix *index, options Options, skipped []Skipped) *declarations {
	d := &declarations{index: ix, options: options, skipped: map[object.ID]Reason{}, external: map[int][]Need{}, elsewhere: map[object.ID]bool{}, outside: map[int][]Need{}}
	for _, s := range skipped {
		d.skipped[s.ID] = s.Why
	}
	for _, r := range options.Elsewhere {
		d.elsewhere[r.ID] = true
	}
	d.leftOut = withoutAnyHooks(options.Elsewhere)
	for i, r := range ix.resources {
		d.dependsOn(i, r)
		if err := checkProvides(r); err != nil {
			d.errs = append(d.errs, err)
		}
	}
	d.changeGroups()
	d.place()
	d.placePrerequisites()
	return d
}

// fail records what is wrong with a resource's declarations.
func (d *declarations) fail(i int, format string, args ...any) {
	r := d.resources[i]
	d.errs = append(d.errs, fmt.Errorf("%s: %w", located(r), fmt.Errorf(format, args...)))
}

// located is a resource with the place of its manifest.
func located(r Resource) string {
	if r.Source == "" {
		return r.ID.String()
	}
	return r.ID.String() + " (" + r.Source + ")"
}

// annotationsOf gives the annotations whose key is the given one, or that with
// a suffix behind a dot, as kapp reads them; sorted by key.
func annotationsOf(r Resource, key string) []string {
	var keys []string
	for k := range r.Annotations {
		if k == key || strings.HasPrefix(k, key+".") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// emitted tells whether a tool's annotations on a resource are our own copy of
// its stamp.
func emitted(r Resource, tool string) bool {
	return slices.Contains(splitList(r.Annotations[EmittedAnnotation]), tool)
}
