package ordering

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/object"
)

const (
	syncWaveAnnotation   = "argocd.argoproj.io/sync-wave"
	hookWeightAnnotation = "helm.sh/hook-weight"
)

// argoPlace is a position in a sync: phase first, then wave.
type argoPlace struct {
	phase phase
	wave  int
}

type phase int

const (
	preSync phase = iota
	sync
	postSync
)

func (p phase) String() string { return []string{"PreSync", "Sync", "PostSync"}[p] }

func phaseNamed(name string) phase { return hookPhases()[name] }

func (p argoPlace) String() string { return fmt.Sprintf("%s wave %d", p.phase, p.wave) }

func comparePlaces(a, b argoPlace) int {
	return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.wave, b.wave))
}

func argoKey(r references.Resource) string {
	if emitted(r, "argocd") {
		return ""
	}
	return firstKey(r, syncWaveAnnotation, argoHookAnnotation)
}

// hookPhases maps the names of Argo CD's hooks to phases.
func hookPhases() map[string]phase {
	return map[string]phase{"PreSync": preSync, "Sync": sync, "PostSync": postSync}
}

// helmPhases maps Helm's hooks to phases as Argo CD does.
func helmPhases() map[string]phase {
	return map[string]phase{"pre-install": preSync, "pre-upgrade": preSync, "post-install": postSync, "post-upgrade": postSync}
}

// argoPhases returns the phases that a hook annotation names, sorted and
// without duplicates.
func argoPhases(hook string, names map[string]phase) []phase {
	var phases []phase
	for _, name := range references.SplitList(hook) {
		if p, ok := names[name]; ok {
			phases = append(phases, p)
		}
	}
	slices.Sort(phases)
	return slices.Compact(phases)
}

// placeByPhases places every resource of a scope as Argo CD does: by phase,
// then by wave. Without annotations a resource is in the sync phase, wave 0. A
// position that no annotation sets is a default, which is dropped if a resource
// in an earlier position requires the resource.
func (d *declarations) placeByPhases(s scope) {
	places := make([]argoPlace, len(d.Resources))
	for _, i := range s.resources {
		r := d.Resources[i]
		places[i] = d.argoPlace(r)
		switch {
		case firstKey(r, syncWaveAnnotation, argoHookAnnotation, helmHookAnnotation, hookWeightAnnotation) != "":
			d.placements[i] = placed
		case !d.isPrerequisite(r) || d.options.NoPrerequisites:
			d.placements[i] = byDefault
		}
	}
	d.moveBeforeUsers(s, places)
	sets := d.addArgoSets(s, places)
	for _, i := range s.resources {
		at := sets[places[i]]
		switch d.placements[i] {
		case placed:
			d.layerOf[i] = at
			d.join(i, at, graph.Hard, graph.Hard)
		case byDefault:
			d.layerOf[i] = at
			d.join(i, at, graph.DefaultPlace, graph.Hard)
			if s.parentSet >= 0 {
				d.join(i, s.parentSet, graph.Hard, noEdge)
			}
		}
	}
	for _, r := range s.excluded {
		at, _, _ := parseArgoPlace(r)
		d.addSetExternal(sets[at], r.ID, excludedReason(d.sets[sets[at]]))
	}
}

// argoPlace returns the position that a resource's annotations name. It notes
// values that Argo CD reads in an unexpected way.
func (d *declarations) argoPlace(r references.Resource) argoPlace {
	p, phases, err := parseArgoPlace(r)
	if err != nil {
		d.notes = append(d.notes, fmt.Sprintf("%s: %v; Argo CD reads it as 0", r.Located(), err))
	}
	if phases > 1 {
		d.notes = append(d.notes, fmt.Sprintf("%s is a hook of several phases; ordapply applies it once, in %s", r.Located(), p.phase))
	}
	return p
}

// parseArgoPlace parses a resource's hook and wave annotations. phases is the
// number of phases that the hook names; the first one is used. A wave that is
// not an integer is an error and read as 0.
func parseArgoPlace(r references.Resource) (p argoPlace, phases int, err error) {
	p.phase = sync
	named := argoPhases(r.Annotations[argoHookAnnotation], hookPhases())
	if _, ok := r.Annotations[argoHookAnnotation]; !ok && r.Annotations[helmHookAnnotation] != "crd-install" {
		named = argoPhases(r.Annotations[helmHookAnnotation], helmPhases())
	}
	if len(named) > 0 {
		p.phase = named[0]
	}
	if key := firstKey(r, syncWaveAnnotation, hookWeightAnnotation); key != "" {
		if p.wave, err = strconv.Atoi(r.Annotations[key]); err != nil {
			p.wave, err = 0, fmt.Errorf("annotation %s: %q is not an integer", key, r.Annotations[key])
		}
	}
	return p, len(named), err
}

// moveBeforeUsers moves placed CRDs and Namespaces to the position of the first
// resource of the scope that cannot exist without them, as Argo CD does.
func (d *declarations) moveBeforeUsers(s scope, places []argoPlace) {
	first := map[int]argoPlace{}
	need := func(on int, p argoPlace) {
		if have, ok := first[on]; !ok || comparePlaces(p, have) < 0 {
			first[on] = p
		}
	}
	for _, i := range s.resources {
		r := d.Resources[i]
		if d.placements[i] == unplaced {
			continue
		}
		if crd, ok := d.CRDs[references.GroupKind{Group: r.Group, Kind: r.Kind}]; ok {
			need(crd, places[i])
		}
		if namespace, ok := d.ByID[object.ID{Kind: "Namespace", Name: r.Namespace}]; ok && r.Namespace != "" {
			need(namespace, places[i])
		}
	}
	within := map[int]bool{}
	for _, i := range s.resources {
		within[i] = true
	}
	for _, i := range slices.Sorted(maps.Keys(first)) {
		if within[i] && d.placements[i] == placed && comparePlaces(first[i], places[i]) < 0 {
			d.notes = append(d.notes, fmt.Sprintf("%s is applied in %s instead of its %s: a resource there requires it", d.Resources[i].ID, first[i], places[i]))
			places[i] = first[i]
		}
	}
}

// addArgoSets adds a set for each position in use; each set waits for the one
// before it.
func (d *declarations) addArgoSets(within scope, places []argoPlace) map[argoPlace]int {
	used := map[argoPlace]bool{}
	for _, i := range within.resources {
		if d.placements[i] != unplaced {
			used[places[i]] = true
		}
	}
	for _, r := range within.excluded {
		at, _, _ := parseArgoPlace(r)
		used[at] = true
	}
	sets := map[argoPlace]int{}
	before, any := argoPlace{}, false
	for _, p := range slices.SortedFunc(maps.Keys(used), comparePlaces) {
		name := within.title(p.String())
		s := set{name: name, short: name, kind: ArgoWave, within: within.parentSet, at: p}
		if any {
			s.after = []Barrier{{sets[before], graph.Reason{Rule: "argocd", Detail: name + " comes after " + within.title(before.String())}}}
		}
		sets[p] = d.addSet(s)
		before, any = p, true
	}
	return sets
}
