package edges

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// Annotations of Helm's HIP-0025: a resource belongs to a group of its chart
// and names the groups that come before it. An earlier version of the proposal
// called groups layers. Keys with two slashes are invalid annotation keys for
// the API server: they are read here and must not be sent (see
// IllegalAnnotations).
const (
	helmGroupAnnotation    = "helm.sh/resource-group"
	helmLayerAnnotation    = "helm.sh/layer"
	helmDependsOnGroups    = "helm.sh/depends-on/resource-groups"
	helmDependsOnLayers    = "helm.sh/depends-on/layers"
	helmDependsOnSubcharts = "helm.sh/depends-on/subcharts"
)

// IllegalAnnotations returns the annotation keys that this package reads, as HIP-0025
// writes them, and the API server rejects, because they contain two slashes.
func IllegalAnnotations() []string {
	return []string{helmDependsOnGroups, helmDependsOnLayers, helmDependsOnSubcharts}
}

func helmKey(r ordering.Resource) string {
	return firstKey(r, helmGroupAnnotation, helmLayerAnnotation, helmDependsOnGroups, helmDependsOnLayers)
}

// helmGroup is one group of one chart.
type helmGroup struct {
	name    string
	unnamed bool                         // its members name no group themselves
	members []int                        // planned ones first
	needs   []string                     // names of groups, sorted
	first   map[string]ordering.Resource // by the name of a group: the first member that needs it
	set     int
}

// placeByCharts places resources by the order of charts and by the groups of
// each chart. A resource without a group is applied after all groups, unless a
// resource of a group requires it.
func (d *Declarations) placeByCharts(s scope) {
	own := d.addCharts(s)
	parts := map[string][]int{}
	for _, i := range s.all() {
		chart := d.resource(i).Chart
		parts[chart] = append(parts[chart], i)
	}
	for _, chart := range slices.Sorted(maps.Keys(parts)) {
		around, inChart := own[chart]
		if !inChart {
			around = s.parentSet
		}
		d.placeInChart(d.scopeOf(s.application, s.parentSet, parts[chart]), chart, around)
	}
}

// placeInChart places the resources of a scope, all of one chart. around is the set
// of the chart's own resources; if nothing is known of the chart, the set of the
// application, or -1. A chart without groups gets a set of its own, so that the
// groups of other charts do not order it.
func (d *Declarations) placeInChart(s scope, chart string, around int) {
	groups := d.readGroups(s, chart)
	d.holdUngrouped(around, s.excluded)
	grouped := map[int]bool{}
	for _, g := range groups {
		title := s.title(groupTitle(chart, g.name))
		g.set = d.AddSet(Set{Name: title, Short: title, Kind: ordering.HelmGroup, Within: around})
		for _, i := range g.members {
			if d.isPlanned(i) {
				grouped[i] = true
				d.Placements[i], d.LayerOf[i] = Placed, g.set
			}
			d.put(i, g.set)
		}
	}
	d.orderGroups(groups)
	last := around
	switch {
	case len(groups) > 0 && len(grouped) < len(s.resources):
		last = d.addUnsequenced(s.title(groupTitle(chart, ordering.Unsequenced)), around, groups)
	case len(groups) == 0 && len(s.resources) > 0 && around == s.parentSet && chart != "":
		title := s.title(chartTitle(chart))
		last = d.AddSet(Set{Name: "chart " + title, Short: title, Kind: ordering.HelmChart, Within: around})
	}
	for _, i := range s.resources {
		if grouped[i] || last < 0 || isPrerequisite(d.Options, d.Resources[i]) && !d.Options.NoPrerequisites {
			continue
		}
		if s.parentSet >= 0 && last == s.parentSet {
			d.put(i, last)
			continue
		}
		d.Placements[i], d.LayerOf[i] = ByDefault, last
		d.Join(i, last, graph.DefaultPlace, graph.Hard)
		if last != around && around >= 0 && around != s.parentSet {
			d.Join(i, around, graph.DefaultPlace, NoEdge)
		}
		if s.parentSet >= 0 {
			d.Join(i, s.parentSet, graph.Hard, NoEdge)
		}
	}
}

// holdUngrouped notes a chart's own resources that a selection leaves out and no group
// has.
func (d *Declarations) holdUngrouped(around int, excluded []int) {
	if around < 0 {
		return
	}
	for _, i := range excluded {
		if r := d.resource(i); helmKey(r) == "" && (d.Options.NoPrerequisites || !isPrerequisite(d.Options, r)) {
			d.put(i, around)
		}
	}
}

func (d *Declarations) addUnsequenced(title string, around int, groups []*helmGroup) int {
	s := Set{Name: title, Short: title, Kind: ordering.HelmGroup, Within: around}
	for _, g := range groups {
		s.After = append(s.After, ordering.Barrier{Layer: g.set, Why: ordering.Reason{Rule: "helm", Detail: "resources without a group come after all groups"}})
	}
	return d.AddSet(s)
}

// readGroups returns the groups of a chart, sorted by name.
func (d *Declarations) readGroups(s scope, chart string) []*helmGroup {
	byName := map[string]*helmGroup{}
	for _, i := range s.all() {
		if g := d.readGroup(d.resource(i), byName); g != nil {
			g.members = append(g.members, i)
		}
	}
	d.checkGroups(s, chart, byName)
	d.noteIsolated(chart, byName)
	var groups []*helmGroup
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		groups = append(groups, byName[name])
	}
	return groups
}

// readGroup finds or makes the group that a resource is in, and adds the groups that
// it needs; nil for a resource in none.
func (d *Declarations) readGroup(r ordering.Resource, byName map[string]*helmGroup) *helmGroup {
	name, needs := d.groupOf(r)
	if name == "" {
		return nil
	}
	g := byName[name]
	if g == nil {
		g = &helmGroup{name: name, unnamed: firstKey(r, helmGroupAnnotation, helmLayerAnnotation) == "", first: map[string]ordering.Resource{}}
		byName[name] = g
	}
	for _, need := range needs {
		if _, ok := g.first[need]; !ok {
			g.first[need] = r
		}
	}
	return g
}

// groupOf reads the name of a resource's group and the groups that it needs.
// Resources that need the same groups and name none of their own share one.
func (d *Declarations) groupOf(r ordering.Resource) (name string, needs []string) {
	name = r.Annotations[helmGroupAnnotation]
	if layer := r.Annotations[helmLayerAnnotation]; name == "" {
		name = layer
	} else if layer != "" && layer != name {
		d.fail(r, "annotations %s and %s name two groups, %s and %s: a resource belongs to one", helmGroupAnnotation, helmLayerAnnotation, name, layer)
	}
	if strings.HasPrefix(strings.TrimSpace(name), "[") || strings.Contains(name, ",") {
		d.fail(r, "annotation %s: %s is a list, and a resource belongs to one group: write its name", firstKey(r, helmGroupAnnotation, helmLayerAnnotation), name)
	}
	for _, key := range []string{helmDependsOnGroups, helmDependsOnLayers} {
		value, ok := r.Annotations[key]
		if !ok {
			continue
		}
		list, err := helmList(value)
		if err != nil {
			d.fail(r, "annotation %s: %w", key, err)
		}
		needs = append(needs, list...)
	}
	if name == "" && len(needs) > 0 {
		name = "after " + strings.Join(slices.Compact(slices.Sorted(slices.Values(needs))), ", ")
	}
	return name, needs
}

// helmList parses a list: a JSON array in a string, or comma-separated.
func helmList(value string) ([]string, error) {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "[") {
		return references.SplitList(value), nil
	}
	var entries []string
	if err := json.Unmarshal([]byte(value), &entries); err != nil {
		return nil, fmt.Errorf(`%q is not a JSON array of strings, such as ["database", "queue"]`, value)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, references.SplitList(entry)...)
	}
	return out, nil
}

// checkGroups reports references of groups to themselves as errors, and to groups that
// the chart does not have as notes, which delay nothing, as in the proposal's example:
// values may disable all templates of a group.
func (d *Declarations) checkGroups(s scope, chart string, byName map[string]*helmGroup) {
	names := slices.Sorted(maps.Keys(byName))
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return byName[name].unnamed })
	for _, name := range names {
		g := byName[name]
		for _, need := range slices.Sorted(maps.Keys(g.first)) {
			if need == name {
				r := g.first[need]
				key := firstKey(r, helmDependsOnGroups, helmDependsOnLayers)
				d.fail(r, "annotation %s: group %s depends on itself: remove it", key, need)
				continue
			}
			if _, ok := byName[need]; ok {
				g.needs = append(g.needs, need)
				continue
			}
			if d.Options.Incomplete || !d.isPlanned(g.members[0]) {
				continue
			}
			r := g.first[need]
			key := firstKey(r, helmDependsOnGroups, helmDependsOnLayers)
			others := slices.DeleteFunc(slices.Clone(named), func(other string) bool { _, needed := g.first[other]; return needed || other == name })
			d.Notes = append(d.Notes, fmt.Sprintf("%s: annotation %s: no resource%s is in group %s: nothing waits for it%s", r.Located(), key, s.where()+ofChart(chart), need, nearest.DidYouMean(need, others)))
		}
	}
}

// noteIsolated notes groups without any relation to other groups of the chart:
// they are only ordered before resources without a group.
func (d *Declarations) noteIsolated(chart string, byName map[string]*helmGroup) {
	linked := map[string]bool{}
	for name, g := range byName {
		for _, need := range g.needs {
			linked[name], linked[need] = true, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if len(byName) > 1 && !linked[name] && len(byName[name].first) == 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("group %s%s has no dependencies and no dependents: its resources are applied with the first groups", name, ofChart(chart)))
		}
	}
}

func (d *Declarations) orderGroups(groups []*helmGroup) {
	sets := map[string]int{}
	for _, g := range groups {
		sets[g.name] = g.set
	}
	for _, g := range groups {
		for _, need := range g.needs {
			r := g.first[need]
			key := firstKey(r, helmDependsOnGroups, helmDependsOnLayers)
			why := ordering.Reason{Rule: "helm", Detail: fmt.Sprintf("annotation %s of %s names %s", key, r.ID, need), Where: r.Source}
			d.Sets[g.set].After = append(d.Sets[g.set].After, ordering.Barrier{Layer: sets[need], Why: why})
		}
	}
}

// groupTitle returns a group's display name as in the proposal: chart, then
// group.
func groupTitle(chart, group string) string {
	if chart == "" {
		return group
	}
	return chartTitle(chart) + " " + group
}

func ofChart(chart string) string {
	if chart == "" {
		return ""
	}
	return " of chart " + chartTitle(chart)
}
