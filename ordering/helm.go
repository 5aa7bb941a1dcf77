package ordering

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Helm's HIP-0025: a resource belongs to a group of its chart and names the
// groups that go before it. The proposal first called groups layers. Keys with
// two slashes are no legal annotations for the API server: they are read here
// and must not be sent (see IllegalAnnotations).
const (
	helmGroupAnnotation    = "helm.sh/resource-group"
	helmLayerAnnotation    = "helm.sh/layer"
	helmDependsOnGroups    = "helm.sh/depends-on/resource-groups"
	helmDependsOnLayers    = "helm.sh/depends-on/layers"
	helmDependsOnSubcharts = "helm.sh/depends-on/subcharts"
	helmUnsequenced        = "unsequenced"
)

// IllegalAnnotations lists the annotations that a stream may carry for this
// package and that the API server refuses: their keys have two slashes.
func IllegalAnnotations() []string {
	return []string{helmDependsOnGroups, helmDependsOnLayers, helmDependsOnSubcharts}
}

func helmKey(r Resource) string {
	return firstKey(r, helmGroupAnnotation, helmLayerAnnotation, helmDependsOnGroups, helmDependsOnLayers)
}

// helmGroup is one group of one chart.
type helmGroup struct {
	name    string
	unnamed bool // of resources that name no group themselves
	members []int
	needs   []string // names of groups, sorted
	first   map[string]int
	set     int
}

// placeByCharts places resources by their charts' order and by the groups of
// each chart. A resource without a group goes out after all groups, unless one
// of these cannot do without it.
func (d *declarations) placeByCharts(s scope) {
	own := d.addCharts(s)
	byChart := map[string][]int{}
	for _, i := range s.resources {
		byChart[d.resources[i].Chart] = append(byChart[d.resources[i].Chart], i)
	}
	for _, chart := range slices.Sorted(maps.Keys(byChart)) {
		around, inChart := own[chart]
		if !inChart {
			around = s.around
		}
		d.placeInChart(s, chart, around, byChart[chart])
	}
}

// placeInChart places the resources of one chart in a scope. around is the set of
// the chart's own resources; when nothing is known of the chart, that of the
// application, or -1. A chart without groups has a place of its own: the groups of
// other charts do not order it.
func (d *declarations) placeInChart(s scope, chart string, around int, resources []int) {
	groups := d.readGroups(s, chart, resources)
	grouped := map[int]bool{}
	for _, g := range groups {
		title := s.title(groupTitle(chart, g.name))
		g.set = d.addSet(set{name: title, short: title, kind: HelmGroup, within: around})
		for _, i := range g.members {
			grouped[i] = true
			d.standing[i], d.layerOf[i] = placed, g.set
			d.join(i, g.set, hard, hard)
		}
	}
	d.orderGroups(groups)
	last := around
	switch {
	case len(groups) > 0 && len(grouped) < len(resources):
		last = d.addUnsequenced(s.title(groupTitle(chart, helmUnsequenced)), around, groups)
	case len(groups) == 0 && around == s.around && chart != "":
		title := s.title(chartTitle(chart))
		last = d.addSet(set{name: "chart " + title, short: title, kind: HelmChart, within: around})
	}
	for _, i := range resources {
		if grouped[i] || last < 0 || d.isPrerequisite(d.resources[i]) && !d.options.NoPrerequisites {
			continue
		}
		if s.around >= 0 && last == s.around {
			d.join(i, last, hard, hard)
			continue
		}
		d.standing[i], d.layerOf[i] = byDefault, last
		d.join(i, last, place, hard)
		if last != around && around >= 0 && around != s.around {
			d.join(i, around, place, absent)
		}
		if s.around >= 0 {
			d.join(i, s.around, hard, absent)
		}
	}
}

func (d *declarations) addUnsequenced(title string, around int, groups []*helmGroup) int {
	s := set{name: title, short: title, kind: HelmGroup, within: around}
	for _, g := range groups {
		s.after = append(s.after, Barrier{g.set, Reason{Rule: "helm", Detail: "resources without a group come after all groups"}})
	}
	return d.addSet(s)
}

// readGroups reads the groups of a chart, sorted by name.
func (d *declarations) readGroups(s scope, chart string, resources []int) []*helmGroup {
	byName := map[string]*helmGroup{}
	for _, i := range resources {
		name, needs := d.readGroup(i)
		if name == "" {
			continue
		}
		g := byName[name]
		if g == nil {
			r := d.resources[i]
			g = &helmGroup{name: name, unnamed: firstKey(r, helmGroupAnnotation, helmLayerAnnotation) == "", first: map[string]int{}}
			byName[name] = g
		}
		g.members = append(g.members, i)
		for _, need := range needs {
			if _, ok := g.first[need]; !ok {
				g.first[need] = i
			}
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

// readGroup reads a resource's group and the groups that it needs. One that needs
// groups and names none of its own is in a group with those that need the same.
func (d *declarations) readGroup(i int) (name string, needs []string) {
	r := d.resources[i]
	name = r.Annotations[helmGroupAnnotation]
	if layer := r.Annotations[helmLayerAnnotation]; name == "" {
		name = layer
	} else if layer != "" && layer != name {
		d.fail(i, "annotations %s and %s name two groups, %s and %s: a resource belongs to one", helmGroupAnnotation, helmLayerAnnotation, name, layer)
	}
	for _, key := range []string{helmDependsOnGroups, helmDependsOnLayers} {
		value, ok := r.Annotations[key]
		if !ok {
			continue
		}
		list, err := helmList(value)
		if err != nil {
			d.fail(i, "annotation %s: %w", key, err)
		}
		needs = append(needs, list...)
	}
	if name == "" && len(needs) > 0 {
		name = "after " + strings.Join(slices.Compact(slices.Sorted(slices.Values(needs))), ", ")
	}
	return name, needs
}

// helmList reads a list: a JSON array in a string, or commas.
func helmList(value string) ([]string, error) {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "[") {
		return splitList(value), nil
	}
	var entries []string
	if err := json.Unmarshal([]byte(value), &entries); err != nil {
		return nil, fmt.Errorf(`%q is no JSON array of texts, such as ["database", "queue"]`, value)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, splitList(entry)...)
	}
	return out, nil
}

// checkGroups looks at needs that name no group of the chart, or their own. One that
// nearly has the name of a group is refused. Others are noted and nothing waits for
// them, as in the proposal's own example: the group's templates may all be switched
// off by values.
func (d *declarations) checkGroups(s scope, chart string, byName map[string]*helmGroup) {
	names := slices.Sorted(maps.Keys(byName))
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return byName[name].unnamed })
	for _, name := range names {
		g := byName[name]
		for _, need := range slices.Sorted(maps.Keys(g.first)) {
			if need == name {
				i := g.first[need]
				key := firstKey(d.resources[i], helmDependsOnGroups, helmDependsOnLayers)
				d.fail(i, "annotation %s: group %s names itself: remove it", key, need)
				continue
			}
			if _, ok := byName[need]; ok {
				g.needs = append(g.needs, need)
				continue
			}
			if d.options.Incomplete || d.isElsewhere("group", need, inHelmGroup) {
				continue
			}
			i := g.first[need]
			key := firstKey(d.resources[i], helmDependsOnGroups, helmDependsOnLayers)
			if near := DidYouMean(need, named); near != "" {
				d.fail(i, "annotation %s: no resource%s is in group %s%s", key, s.where()+ofChart(chart), need, near)
			} else {
				d.notes = append(d.notes, fmt.Sprintf("%s: annotation %s: no resource%s is in group %s: nothing waits for it", located(d.resources[i]), key, s.where()+ofChart(chart), need))
			}
		}
	}
}

// inHelmGroup tells whether a resource is in a group.
func inHelmGroup(r Resource, name string) bool {
	return r.Annotations[helmGroupAnnotation] == name || r.Annotations[helmLayerAnnotation] == name
}

// noteIsolated notes the groups that neither need another nor are needed, where there
// are several: what is grouped goes before what is not, and nothing more follows.
func (d *declarations) noteIsolated(chart string, byName map[string]*helmGroup) {
	linked := map[string]bool{}
	for name, g := range byName {
		for _, need := range g.needs {
			linked[name], linked[need] = true, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if len(byName) > 1 && !linked[name] && len(byName[name].first) == 0 {
			d.notes = append(d.notes, fmt.Sprintf("group %s%s neither needs another group nor is needed by one: its resources go out with the first groups", name, ofChart(chart)))
		}
	}
}

func (d *declarations) orderGroups(groups []*helmGroup) {
	sets := map[string]int{}
	for _, g := range groups {
		sets[g.name] = g.set
	}
	for _, g := range groups {
		for _, need := range g.needs {
			r := d.resources[g.first[need]]
			key := firstKey(r, helmDependsOnGroups, helmDependsOnLayers)
			why := Reason{Rule: "helm", Detail: fmt.Sprintf("annotation %s of %s names %s", key, r.ID, need), Where: r.Source}
			d.sets[g.set].after = append(d.sets[g.set].after, Barrier{sets[need], why})
		}
	}
}

// groupTitle is a group as the proposal's marks write it: chart, then group.
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

// chartTitle is the path of a chart without the folders between: "foo/bar" for
// "foo/charts/bar".
func chartTitle(path string) string { return strings.ReplaceAll(path, "/charts/", "/") }
