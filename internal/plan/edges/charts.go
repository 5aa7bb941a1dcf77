package edges

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/ordering"
)

func isCalled(d ordering.Dependency, name string) bool {
	return d.Name == name || d.Alias == name || slices.Contains(d.Tags, name)
}

func subchartPath(c ordering.Chart, d ordering.Dependency) string {
	return c.Path + "/charts/" + d.Title()
}

// isSubchart reports whether the chart is part of another one.
func isSubchart(c ordering.Chart) bool { return strings.Contains(c.Path, "/charts/") }

// isWithin reports whether the chart at path is a chart or part of it.
func isWithin(path string, c ordering.Chart) bool {
	return path == c.Path || strings.HasPrefix(path, c.Path+"/charts/")
}

// unusedCharts returns an error for each chart that no resource comes from: its order
// would have no effect. A subchart may be disabled.
func unusedCharts(o ordering.Options, resources []ordering.Resource) []error {
	if o.Incomplete || len(resources) == 0 {
		return nil
	}
	rendered := map[string]bool{}
	for _, r := range resources {
		if r.Chart != "" {
			rendered[r.Chart] = true
		}
	}
	paths := slices.Sorted(maps.Keys(rendered))
	var errs []error
	for _, c := range o.Charts {
		switch {
		case isSubchart(c) || slices.ContainsFunc(paths, func(path string) bool { return isWithin(path, c) }):
		case len(paths) == 0:
			errs = append(errs, fmt.Errorf("no resource comes from chart %s: the stream has no # Source: comments, which name charts and which kustomize removes; apply the output of helm template unchanged, or leave out --chart", c.Path))
		default:
			errs = append(errs, fmt.Errorf("no resource comes from chart %s: the stream has resources of chart %s; give --chart the chart that it was rendered from, or leave it out", c.Path, chartTitle(paths[0])))
		}
	}
	return errs
}

// noteUnusedCharts notes that another frame places the stream, so that the order of
// charts has no effect.
func (d *Declarations) noteUnusedCharts() {
	if len(d.Options.Charts) == 0 || slices.ContainsFunc(d.Sets, func(s Set) bool { return s.Kind == ordering.HelmChart }) {
		return
	}
	d.Notes = append(d.Notes, fmt.Sprintf("the order of chart %s, from --chart, has no effect: %s", d.Options.Charts[0].Path, rulesOut(d.OrderSource)))
}

// addCharts adds a set for each chart of a scope. It contains the sets of its
// subcharts and a set of its own resources. addCharts returns the latter, by
// path.
func (d *Declarations) addCharts(s scope) map[string]int {
	whole, own := map[string]int{}, map[string]int{}
	add := func(path string, within int) {
		if _, ok := whole[path]; ok {
			return
		}
		title := s.title(chartTitle(path))
		whole[path] = d.AddSet(Set{Name: "chart " + title, Short: title, Kind: ordering.HelmChart, Within: within})
		own[path] = d.AddSet(Set{Name: "chart " + title + " itself", Short: title, Kind: ordering.HelmChart, Within: whole[path]})
	}
	charts := slices.SortedFunc(slices.Values(d.chartsOf(s)), func(a, b ordering.Chart) int { return len(a.Path) - len(b.Path) })
	for _, c := range charts {
		add(c.Path, s.parentSet)
		for _, dependency := range c.Dependencies {
			add(subchartPath(c, dependency), whole[c.Path])
		}
	}
	for _, chart := range d.chartPaths(s) {
		if around, ok := nearestChart(whole, chart); ok {
			add(chart, around)
		}
	}
	for _, c := range charts {
		d.after(own[c.Path], c, c.DependsOn, whole, "annotation "+helmDependsOnSubcharts+" of chart "+chartTitle(c.Path))
		for _, dependency := range c.Dependencies {
			d.after(whole[subchartPath(c, dependency)], c, dependency.DependsOn, whole, "depends-on of dependency "+dependency.Title()+" of chart "+chartTitle(c.Path))
		}
	}
	return own
}

// chartsOf returns the charts that have resources in a scope; for the scope
// outside applications, all charts.
func (d *Declarations) chartsOf(s scope) []ordering.Chart {
	if s.application == "" {
		return d.Options.Charts
	}
	return slices.DeleteFunc(slices.Clone(d.Options.Charts), func(c ordering.Chart) bool {
		return !slices.ContainsFunc(d.chartPaths(s), func(path string) bool { return isWithin(path, c) })
	})
}

// chartPaths returns the charts from which the resources of a scope come, including
// the excluded ones.
func (d *Declarations) chartPaths(s scope) []string {
	paths := map[string]bool{}
	for _, i := range s.all() {
		paths[d.resource(i).Chart] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

// nearestChart returns the set of the innermost known chart that contains the
// chart at path.
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

// after makes a set wait for the dependencies of a chart that names lists.
func (d *Declarations) after(waits int, c ordering.Chart, names []string, whole map[string]int, where string) {
	var known []string
	for _, dependency := range c.Dependencies {
		known = append(known, dependency.Title())
	}
	for _, name := range names {
		found := false
		for _, dependency := range c.Dependencies {
			if isCalled(dependency, name) {
				found = true
				if whole[subchartPath(c, dependency)] == waits {
					d.Errs = append(d.Errs, fmt.Errorf("%s refers to itself: remove it", where))
					continue
				}
				why := ordering.Reason{Rule: "chart", Detail: where + " names " + name}
				d.Sets[waits].After = append(d.Sets[waits].After, ordering.Barrier{Layer: whole[subchartPath(c, dependency)], Why: why})
			}
		}
		if !found {
			d.Errs = append(d.Errs, fmt.Errorf("%s: the chart has no dependency %s%s", where, name, nearest.DidYouMean(name, known)))
		}
	}
}

// chartTitle returns the path of a chart without the charts folders: "foo/bar"
// for "foo/charts/bar".
func chartTitle(path string) string { return strings.ReplaceAll(path, "/charts/", "/") }
