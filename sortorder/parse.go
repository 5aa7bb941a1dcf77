package sortorder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/strict"
)

// Default returns the order without a configuration: no selectors, the legacy
// order of kinds.
func Default() *Order {
	order, _ := compile(config{Metadata: metadata{Name: DefaultName}}, nil, nil)
	return order
}

// Parse parses a SortOrder in YAML or JSON, or the ConfigMap in which kpt
// passes its fields. Its error is a Problems with all faults, among them
// unknown fields and selectors that no resource can reach because of earlier
// ones.
func Parse(document []byte) (*Order, error) {
	tree, err := readDocument(document)
	if err != nil {
		return nil, err
	}
	if _, hasData := tree["data"]; tree["kind"] == "ConfigMap" || tree["kind"] == Kind && tree["apiVersion"] == "v1" && hasData {
		fields, problems := fromData(tree)
		order, problems := parse(fields, problems)
		return order, problems.withDataPaths().asError()
	}
	order, problems := parse(tree, nil)
	return order, problems.asError()
}

// parse decodes and compiles; the order is nil if there are problems.
func parse(tree map[string]any, problems Problems) (*Order, Problems) {
	var c config
	problems = append(problems, decode(tree, &c)...)
	note := c.header(tree, &problems)
	order, problems := compile(c, nil, problems)
	if order != nil && note != "" {
		order.Warnings = append(Problems{{Path: "apiVersion", Message: note}}, order.Warnings...)
	}
	return order, problems
}

// readDocument parses the document into maps, lists and scalars.
func readDocument(document []byte) (map[string]any, error) {
	tree, err := strict.Read(document, "a SortOrder", fmt.Sprintf("apiVersion %s, kind %s and sortOrder", APIVersion, Kind))
	if err != nil {
		return nil, asProblems(err)
	}
	return tree, nil
}

// header validates apiVersion, kind and metadata. The KEP's example is part of
// a kustomization.yaml: a file that starts with sortOrder is accepted, and the
// note says what to add.
func (c *config) header(tree map[string]any, problems *Problems) (note string) {
	if c.APIVersion == "" && !problems.under("apiVersion") {
		c.APIVersion, note = APIVersion, "is missing: read as "+APIVersion+"; add apiVersion: "+APIVersion
	}
	if note != "" && tree["sortOrder"] != nil && tree["kind"] == nil && tree["metadata"] == nil {
		c.Kind, c.Metadata.Name = Kind, DefaultName
		note = fmt.Sprintf("is missing, and so are kind and metadata.name: read as %s %s of %s; add them", Kind, DefaultName, APIVersion)
	}
	if c.APIVersion != APIVersion {
		problems.add("apiVersion", "is %q: write %s", c.APIVersion, APIVersion)
	}
	if c.Kind != Kind {
		problems.add("kind", "is %q: write %s", c.Kind, Kind)
	}
	if c.Metadata.Name == "" {
		problems.add("metadata.name", "is missing: stamps contain the order's name, so that one stream can have two orders")
	}
	return note
}

// compile validates a config as a whole and converts it to an Order. paths are the
// selectors' if they are not from sortOrder; problems were found while decoding.
func compile(c config, paths []string, problems Problems) (*Order, Problems) {
	checkName(c.Metadata.Name, &problems)
	c.checkCarry(&problems)
	o := &Order{
		Name: c.Metadata.Name, Carry: Pass(c.Carry), Of: c.Of,
		Emit: sortedSet(c.Emit), Overwrite: c.Overwrite, Strict: c.Strict, Reindex: c.Reindex,
		ForApplier: present(c.applierFields), OutputOrder: c.outputOrder(&problems),
		rules: rules{paths: paths},
	}
	for i, spec := range c.SortOrder {
		o.selectors = append(o.selectors, spec.compile(o.path(i), &problems))
	}
	o.types = c.TypeOrder.compile("typeOrder", &problems)
	checkTools(c.Emit, &problems)
	o.compileLayers(c.Layers, &problems)
	if len(problems) == 0 {
		o.Warnings = o.checkShadows(&problems)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return o, nil
}

func (c config) outputOrder(problems *Problems) OutputOrder {
	switch order := OutputOrder(c.OutputOrder); order {
	case "":
		return ByPlan
	case ByPlan, ByPrecedence:
		return order
	}
	problems.add("outputOrder", "is %q: write plan or precedence%s", c.OutputOrder, nearest.DidYouMean(c.OutputOrder, []string{string(ByPlan), string(ByPrecedence)}))
	return ByPlan
}

func checkName(name string, problems *Problems) {
	if strings.ContainsFunc(name, notInName) {
		problems.add("metadata.name", "is %q: use letters, digits, and - _ . = + only", name)
	}
}

func checkTools(emit []string, problems *Problems) {
	for i, tool := range emit {
		if !slices.Contains(stamp.Tools(), tool) {
			problems.add(fmt.Sprintf("emit[%d]", i), "is %q: write argocd, kpt or kapp%s", tool, nearest.DidYouMean(tool, stamp.Tools()))
		}
	}
}

// compileLayers adds the layers: one for each selector, and at the end the
// rest's unless sortOrder lists it.
func (o *Order) compileLayers(changes []layerSpec, problems *Problems) {
	entries := slices.Clone(o.selectors)
	o.checkEntries(entries, problems)
	if !slices.ContainsFunc(entries, func(s selector) bool { return s.unmatched }) {
		entries = append(entries, selector{unmatched: true, layer: unmatchedLayer})
	}
	names := make([]string, len(entries))
	for i, s := range entries {
		names[i] = s.layer
	}
	graph := newLayerGraph(o.Name, names, changes, problems)
	ranks := graph.rank(problems)
	if len(*problems) > 0 {
		return
	}
	o.Layers, o.layerOf = make([]Layer, len(entries)), ranks
	for i, s := range entries {
		layer := Layer{Name: s.layer, Rank: ranks[i], Applied: s.applied, Timeout: s.timeout, Unmatched: s.unmatched}
		inside := graph.restInside(entries, ranks)
		layer.Listed = s.unmatched && (inside || o.placesRest(changes))
		if len(changes) > 0 || inside {
			layer.Needs = graph.closure(i, ranks)
		}
		if s.unmatched {
			o.rest = ranks[i]
		}
		o.Layers[ranks[i]] = layer
	}
}

// placesRest reports whether the order says where the rest goes: in sortOrder or in
// layers.
func (o *Order) placesRest(changes []layerSpec) bool {
	return slices.ContainsFunc(o.selectors, func(s selector) bool { return s.unmatched }) ||
		slices.ContainsFunc(changes, func(c layerSpec) bool { return c.Name == unmatchedLayer })
}

// restInside reports whether layers come after the rest. Resources of the rest
// have no wave stamp, so these layers must list their needs by name.
func (g *layerGraph) restInside(entries []selector, ranks []int) bool {
	for i, s := range entries {
		if s.unmatched {
			return ranks[i] < len(entries)-1
		}
	}
	return false
}

// checkEntries reports duplicate layer names, including the rest's, and a
// second entry for the rest.
func (o *Order) checkEntries(entries []selector, problems *Problems) {
	rest := slices.IndexFunc(entries, func(s selector) bool { return s.unmatched })
	for i, s := range entries {
		before := slices.IndexFunc(entries[:i], func(t selector) bool { return t.layer == s.layer })
		switch {
		case s.unmatched && rest < i:
			problems.add(o.path(i)+".unmatched", "is already set in %s: only one entry may have it", o.path(rest))
		case before >= 0 && s.text == entries[before].text && s.text != "":
			problems.add(o.path(i), "(%s) can never match: %s selects the same; remove it, or %s", s.text, o.path(before), o.path(before))
		case before >= 0 && s.layer != "":
			problems.add(o.path(i), "has the layer name %q, like %s: give one of them another layer name", s.layer, o.path(before))
		case rest < 0 && s.layer == unmatchedLayer:
			problems.add(o.path(i), "has the layer name %q, which unmatched resources have: choose another, or add an unmatched: true entry with another layer name", s.layer)
		}
	}
}
