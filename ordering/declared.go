package ordering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/internal/stamp"
	"github.com/ordapply/ordapply/object"
)

// declarations holds what authors declared: edges between resources, sets of
// resources, and the order of the sets.
type declarations struct {
	*references.Index
	options           Options
	skipped           map[object.ID]graph.Reason
	edges             []graph.Edge
	external          map[int][]Need // by resource
	sets              []set
	members           []membership
	orderSource       OrderSource
	placements        []placement             // per resource
	layerOf           []int                   // per resource: the set that placed it, or -1
	prerequisites     int                     // the set of CRDs and Namespaces, or -1
	deleteRules       []changeRule            // kapp's delete rules
	changed           map[string]*changeGroup // members of kapp's change groups
	excludedIDs       map[object.ID]bool
	excludedResources []references.Resource // of elsewhere, without hooks
	setExternals      map[int][]Need        // per set: its resources that are not part of the plan
	errs              []error
	notes             []string
	suggestions       int
}

// declare reads all declarations of a stream. It collects errors in errs and
// keeps everything that it could read.
func declare(ix *references.Index, options Options, skipped []Skipped) *declarations {
	d := &declarations{Index: ix, options: options, skipped: map[object.ID]graph.Reason{}, external: map[int][]Need{}, excludedIDs: map[object.ID]bool{}, setExternals: map[int][]Need{}}
	for _, s := range skipped {
		d.skipped[s.ID] = s.Why
	}
	for _, r := range options.Excluded {
		d.excludedIDs[r.ID] = true
	}
	d.excludedResources = withoutAnyHooks(options.Excluded)
	slices.SortFunc(d.excludedResources, func(a, b references.Resource) int { return object.Compare(a.ID, b.ID) })
	for i, r := range ix.Resources {
		d.dependsOn(i, r)
		if err := references.CheckProvidesOf(r); err != nil {
			d.errs = append(d.errs, err)
		}
	}
	d.changeGroups()
	d.place()
	d.placePrerequisites()
	return d
}

// fail records an error in a resource's declarations.
func (d *declarations) fail(i int, format string, args ...any) {
	d.failOf(d.Resources[i], format, args...)
}

// failOf records an error about a resource, which need not be part of the plan.
func (d *declarations) failOf(r references.Resource, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s: %w", r.Located(), fmt.Errorf(format, args...)))
}

// annotationsOf returns the annotation keys that equal key or start with key
// and a dot, as kapp reads them; sorted.
func annotationsOf(r references.Resource, key string) []string {
	var keys []string
	for k := range r.Annotations {
		if k == key || strings.HasPrefix(k, key+".") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// emitted reports whether a tool's annotations on a resource were written by us
// as a copy of its stamp.
func emitted(r references.Resource, tool string) bool {
	return slices.Contains(references.SplitList(r.Annotations[stamp.EmittedAnnotation]), tool)
}
