package export

import (
	"maps"

	"github.com/ordapply/ordapply/internal/view/diff"
)

// objects compares the objects of the engine.
func (f *finder) objects(want, have []document) {
	found := map[string]document{}
	for _, d := range have {
		if _, twice := found[d.id()]; twice {
			f.add(Finding{d.path, d.name() + " is there twice", "the one that is applied last counts", "remove one"})
		}
		found[d.id()] = d
	}
	wanted := f.pair(want, found, func(d document) string { return withoutIt(d.text("kind")) }, f.compare)
	for _, d := range have {
		if !wanted[d.id()] {
			f.add(Finding{d.path, d.name() + " is not of this order", withIt(d.text("kind")), "remove it"})
		}
	}
}

// withoutIt says why it matters that an object of a kind is missing.
func withoutIt(kind string) string {
	return map[string]string{
		"Kustomization":  "its layer is never applied, and what depends on it waits forever",
		"Application":    "its layer is never applied, and no later layer waits for it",
		"ApplicationSet": "Argo CD applies nothing",
		"ConfigMap":      "without its health checks Argo CD opens gates too early",
		"Export":         "without it --check needs all flags of the export",
	}[kind]
}

// withIt says why it matters that another object of a kind is there.
func withIt(kind string) string {
	return map[string]string{
		"Kustomization": "Flux applies it, and no order says when",
		"Application":   "Argo CD applies it, and no order says when",
	}[kind]
}

// compare compares two versions of an object. Differences of gates are reported first, in
// the engine's words; a copy then has the order's values, so that the rest is compared
// field by field.
func (f *finder) compare(want, have document) {
	rest := document{have.path, maps.Clone(have.object)}
	c := comparison{finder: f, want: want, have: have, rest: rest}
	switch want.text("kind") {
	case "Kustomization":
		c.kustomization()
	case "Application":
		c.application()
	case "ApplicationSet":
		c.applicationSet()
	case "ConfigMap":
		c.healthChecks()
	case "Export":
		c.options()
	}
	for _, change := range diff.Between(want.object, rest.object) {
		c.say("differs, "+changeText(change, false), "", again)
	}
}

// options compares the options of the export.
func (c *comparison) options() {
	was, is := c.want.at("options"), c.have.at("options")
	want, _ := was.(map[string]any)
	have, _ := is.(map[string]any)
	for _, change := range diff.Between(want, have) {
		c.add(Finding{c.have.path, "option " + changeText(change, false), "the tree was exported with other flags than it is compared with", "repeat the flag, or " + again})
	}
	c.settle("options")
}
