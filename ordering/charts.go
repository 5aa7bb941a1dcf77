package ordering

import (
	"fmt"
	"slices"
	"strings"
)

// Chart is what a Chart.yaml says about the order of its dependencies
// (HIP-0025).
type Chart struct {
	// Path is where `helm template` says that the chart's resources come from:
	// "foo", "foo/charts/bar".
	Path string
	// DependsOn are the dependencies that the chart's own resources wait for:
	// annotation helm.sh/depends-on/subcharts.
	DependsOn    []string
	Dependencies []Dependency
}

// Dependency is an entry of a Chart.yaml's dependencies.
type Dependency struct {
	Name, Alias string
	Tags        []string
	DependsOn   []string // dependencies of the same chart, by name, alias or tag
}

// Title is the name that the dependency's folder has in a rendered chart.
func (d Dependency) Title() string {
	if d.Alias != "" {
		return d.Alias
	}
	return d.Name
}

func (d Dependency) called(name string) bool {
	return d.Name == name || d.Alias == name || slices.Contains(d.Tags, name)
}

func (c Chart) path(d Dependency) string { return c.Path + "/charts/" + d.Title() }

// addCharts makes a set of each chart, around those of its subcharts and that
// of its own resources, in a scope. It gives the latter, by path.
func (d *declarations) addCharts(s scope) map[string]int {
	whole, own := map[string]int{}, map[string]int{}
	add := func(path string, within int) {
		if _, ok := whole[path]; ok {
			return
		}
		title := s.title(chartTitle(path))
		whole[path] = d.addSet(set{name: "chart " + title, short: title, kind: HelmChart, within: within})
		own[path] = d.addSet(set{name: "chart " + title + " itself", short: title, kind: HelmChart, within: whole[path]})
	}
	charts := slices.SortedFunc(slices.Values(d.chartsOf(s)), func(a, b Chart) int { return len(a.Path) - len(b.Path) })
	for _, c := range charts {
		add(c.Path, s.around)
		for _, dependency := range c.Dependencies {
			add(c.path(dependency), whole[c.Path])
		}
	}
	for _, i := range s.resources {
		chart := d.resources[i].Chart
		if around, ok := nearestChart(whole, chart); ok {
			add(chart, around)
		}
	}
	for _, c := range charts {
		d.after(own[c.Path], c, c.DependsOn, whole, "annotation "+helmDependsOnSubcharts+" of chart "+chartTitle(c.Path))
		for _, dependency := range c.Dependencies {
			d.after(whole[c.path(dependency)], c, dependency.DependsOn, whole, "depends-on of dependency "+dependency.Title()+" of chart "+chartTitle(c.Path))
		}
	}
	return own
}

// chartsOf are the charts of which a scope holds resources; outside applications
// all that are known.
func (d *declarations) chartsOf(s scope) []Chart {
	if s.application == "" {
		return d.options.Charts
	}
	return slices.DeleteFunc(slices.Clone(d.options.Charts), func(c Chart) bool {
		return !slices.ContainsFunc(s.resources, func(i int) bool {
			return d.resources[i].Chart == c.Path || strings.HasPrefix(d.resources[i].Chart, c.Path+"/charts/")
		})
	})
}

// nearestChart is the set of the innermost known chart around one of which
// nothing is known.
func nearestChart(whole map[string]int, path string) (set int, ok bool) {
	for {
		at := strings.LastIndex(path, "/charts/")
		if at < 0 {
			return 0, false
		}
		path = path[:at]
		if set, ok = whole[path]; ok {
			return set, true
		}
	}
}

// after lets a set wait for the dependencies of a chart that names name.
func (d *declarations) after(waits int, c Chart, names []string, whole map[string]int, where string) {
	var known []string
	for _, dependency := range c.Dependencies {
		known = append(known, dependency.Title())
	}
	for _, name := range names {
		found := false
		for _, dependency := range c.Dependencies {
			if dependency.called(name) {
				found = true
				if whole[c.path(dependency)] == waits {
					d.errs = append(d.errs, fmt.Errorf("%s names itself: remove it", where))
					continue
				}
				why := Reason{Rule: "chart", Detail: where + " names " + name}
				d.sets[waits].after = append(d.sets[waits].after, Barrier{whole[c.path(dependency)], why})
			}
		}
		if !found {
			d.errs = append(d.errs, fmt.Errorf("%s: the chart has no dependency %s%s", where, name, DidYouMean(name, known)))
		}
	}
}
