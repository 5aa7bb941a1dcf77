package edges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

const (
	// SyncWave is Argo CD's annotation with the number of a wave.
	SyncWave             = "argocd.argoproj.io/sync-wave"
	hookWeightAnnotation = "helm.sh/hook-weight"
)

// ArgoPlace is a position in a sync: phase first, then wave.
type ArgoPlace struct {
	Phase Phase
	Wave  int
}

// Phase is a phase of a sync of Argo CD.
type Phase int

const (
	preSync Phase = iota
	sync
	postSync
)

// String returns the name of the phase in Argo CD, such as "PreSync".
func (p Phase) String() string { return []string{"PreSync", "Sync", "PostSync"}[p] }

// String returns "Sync wave 3".
func (p ArgoPlace) String() string { return fmt.Sprintf("%s wave %d", p.Phase, p.Wave) }

// ComparePlaces orders places as a sync reaches them.
func ComparePlaces(a, b ArgoPlace) int {
	return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Wave, b.Wave))
}

func argoKey(r ordering.Resource) string {
	key := firstKey(r, SyncWave, ArgoHook)
	if key != "" && Emitted(r, "argocd") {
		return ""
	}
	return key
}

// hookPhases maps the names of Argo CD's hooks to phases.
func hookPhases() map[string]Phase {
	return map[string]Phase{"PreSync": preSync, "Sync": sync, "PostSync": postSync}
}

// helmPhases maps Helm's hooks to phases as Argo CD does.
func helmPhases() map[string]Phase {
	return map[string]Phase{"pre-install": preSync, "pre-upgrade": preSync, "post-install": postSync, "post-upgrade": postSync}
}

// argoPhases returns the phases that a hook annotation names, sorted and
// without duplicates.
func argoPhases(hook string, names map[string]Phase) []Phase {
	var phases []Phase
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
func (d *Declarations) placeByPhases(s scope) {
	places := make([]ArgoPlace, len(d.Resources)+len(d.ExcludedResources))
	for _, i := range s.excluded {
		places[i], _, _ = ParseArgoPlace(d.resource(i))
	}
	for _, i := range s.resources {
		r := d.Resources[i]
		places[i] = d.argoPlace(r)
		switch {
		case firstKey(r, SyncWave, ArgoHook, helmHookAnnotation, hookWeightAnnotation) != "":
			d.Placements[i] = Placed
		case !isPrerequisite(d.Options, r) || d.Options.NoPrerequisites:
			d.Placements[i] = ByDefault
		}
	}
	d.moveBeforeUsers(s, places)
	sets := d.addArgoSets(s, places)
	for _, i := range s.resources {
		at := sets[places[i]]
		switch d.Placements[i] {
		case Placed:
			d.LayerOf[i] = at
			d.put(i, at)
		case ByDefault:
			d.LayerOf[i] = at
			d.Join(i, at, graph.DefaultPlace, graph.Hard)
			if s.parentSet >= 0 {
				d.Join(i, s.parentSet, graph.Hard, NoEdge)
			}
		}
	}
	for _, i := range s.excluded {
		d.put(i, sets[places[i]])
	}
}

// ArgoPlace returns the position that a resource's annotations name. It notes
// values that Argo CD reads in an unexpected way.
func (d *Declarations) argoPlace(r ordering.Resource) ArgoPlace {
	p, phases, err := ParseArgoPlace(r)
	if err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: %v; Argo CD reads it as 0", r.Located(), err))
	}
	if phases > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s is a hook of several phases; ordapply applies it once, in %s", r.Located(), p.Phase))
	}
	return p
}

// ParseArgoPlace parses a resource's hook and wave annotations. phases is the
// number of phases that the hook names; the first one is used. A wave that is
// not an integer is an error and read as 0.
func ParseArgoPlace(r ordering.Resource) (p ArgoPlace, phases int, err error) {
	p.Phase = sync
	named := argoPhases(r.Annotations[ArgoHook], hookPhases())
	if _, ok := r.Annotations[ArgoHook]; !ok && r.Annotations[helmHookAnnotation] != "crd-install" {
		named = argoPhases(r.Annotations[helmHookAnnotation], helmPhases())
	}
	if len(named) > 0 {
		p.Phase = named[0]
	}
	if key := firstKey(r, SyncWave, hookWeightAnnotation); key != "" {
		if p.Wave, err = strconv.Atoi(r.Annotations[key]); err != nil {
			p.Wave, err = 0, fmt.Errorf("annotation %s: %q is not an integer", key, r.Annotations[key])
		}
	}
	return p, len(named), err
}

// HasWave reports whether annotations number a resource's wave; without one it is in
// wave 0.
func HasWave(r ordering.Resource) bool {
	return firstKey(r, SyncWave, hookWeightAnnotation) != ""
}

// moveBeforeUsers moves placed CRDs and Namespaces to the position of the first
// resource of the scope that cannot exist without them, as Argo CD does.
func (d *Declarations) moveBeforeUsers(s scope, places []ArgoPlace) {
	first := map[int]ArgoPlace{}
	need := func(on int, p ArgoPlace) {
		if have, ok := first[on]; !ok || ComparePlaces(p, have) < 0 {
			first[on] = p
		}
	}
	for _, i := range s.resources {
		r := d.Resources[i]
		if d.Placements[i] == Unplaced {
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
		if within[i] && d.Placements[i] == Placed && ComparePlaces(first[i], places[i]) < 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%s is applied in %s instead of its %s: a resource there requires it", d.Resources[i].ID, first[i], places[i]))
			places[i] = first[i]
		}
	}
}

// addArgoSets adds a set for each position in use; each set waits for the one
// before it.
func (d *Declarations) addArgoSets(within scope, places []ArgoPlace) map[ArgoPlace]int {
	used := map[ArgoPlace]bool{}
	for _, i := range within.all() {
		if !d.isPlanned(i) || d.Placements[i] != Unplaced {
			used[places[i]] = true
		}
	}
	sets := map[ArgoPlace]int{}
	before, any := ArgoPlace{}, false
	for _, p := range slices.SortedFunc(maps.Keys(used), ComparePlaces) {
		name := within.title(p.String())
		s := Set{Name: name, Short: name, Kind: ordering.ArgoWave, Within: within.parentSet, At: p}
		if any {
			s.After = []ordering.Barrier{{Layer: sets[before], Why: ordering.Reason{Rule: "argocd", Detail: name + " comes after " + within.title(before.String())}}}
		}
		sets[p] = d.AddSet(s)
		before, any = p, true
	}
	return sets
}
