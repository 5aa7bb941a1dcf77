package fn

import (
	"errors"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Function sorts and stamps a stream. The zero value takes its order from the
// functionConfig of a ResourceList; without one it uses sortorder.Default.
type Function struct {
	Order *sortorder.Order // instead of functionConfig; required for a plain stream
	Marks bool             // mark the start and end of layers in a plain stream
}

// errNoOrder is returned for a plain stream without an order.
var errNoOrder = errors.New("a plain stream needs an order: pass --order FILE; only a ResourceList contains one, as functionConfig")

// errNoResources is returned for a stream without resources: empty output with
// success could let a build delete everything.
var errNoResources = errors.New("the input contains no resources: did the previous command in the pipe fail?")

// Run sorts and stamps a ResourceList or a plain stream, in UTF-8 or UTF-16. A
// plain layout is kept byte for byte except for the lines of the stamps. A plain
// stream without an order or resources fails, as do the errors of Plan.
func (f Function) Run(in []byte) Output {
	source, planner, out := f.start(in)
	switch {
	case out.Findings.Failed():
		return out
	case planner.Order.Carry != sortorder.NoPass:
		return planner.runPass(in)
	}
	if out = planner.output(source); out.Findings.Failed() {
		return out
	}
	return f.write(in, out, source)
}

// start parses the input and its order. If that fails, the output is final.
func (f Function) start(in []byte) (edit.Input, Planner, Output) {
	source, err := edit.Read(in)
	if err != nil {
		return nil, Planner{}, failed(err)
	}
	if !source.IsList() && len(source.Metas()) == 0 {
		return nil, Planner{}, failed(errNoResources)
	}
	if f.Order == nil && !source.IsList() {
		return nil, Planner{}, failed(errNoOrder)
	}
	planner, findings := f.planner(source.Config())
	if findings.Failed() {
		return nil, Planner{}, refused(source, findings)
	}
	planner.Objects = source.Object
	return source, planner, Output{}
}

// output decides. If that fails, the output is final; otherwise its stream is
// still empty.
func (d Planner) output(source edit.Input) Output {
	metas := source.Metas()
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return refused(source, decision.Findings)
	}
	return Output{Findings: decision.Findings, order: d.Order, metas: metas, decision: decision}
}

// write prints the source as decided. If nothing changes it returns the input
// itself, since encoders may change comments.
func (f Function) write(in []byte, out Output, source edit.Input) Output {
	if decoded, err := tree.Decode(in); err == nil {
		in = decoded // output is always UTF-8
	}
	if out.decision.isNoop(out.metas) && source.Unchanged(out.Findings.results()) && !f.Marks && !edit.HasMarks(in) {
		out.stream = edit.Text{in}
		return out
	}
	var err error
	out.stream, err = f.print(out, source)
	if errors.Is(err, edit.ErrNotPlain) {
		if source, err = edit.ReadTree(in); err == nil {
			out.stream, err = f.print(out, source)
		}
	}
	if err != nil {
		return failed(err)
	}
	return out
}

func (f Function) print(out Output, source edit.Input) (edit.Text, error) {
	if source.IsList() {
		return source.ResourceList(out.decision.Sorted, edits(out.decision.Changes), out.Findings.results())
	}
	documents, err := source.Texts(out.decision.Sorted, edits(out.decision.Changes))
	if err != nil {
		return nil, err
	}
	var layers []string
	if f.Marks {
		layers = layersOf(out.metas, out.decision)
	}
	return edit.Join(documents, layers), nil
}

// Decide is Run for the resources of a ResourceList that is parsed already: it places,
// sorts and stamps them in memory. config is the functionConfig in YAML, or nil; objects
// returns a manifest by index.
func (f Function) Decide(config []byte, metas []object.Meta, objects func(i int) map[string]any) Decision {
	planner, findings := f.planner(config)
	if findings.Failed() {
		return Decision{Findings: findings}
	}
	planner.Objects = objects
	return planner.decide(metas)
}

// planner returns the Planner with the order: the function's, the
// functionConfig's, or the default.
func (f Function) planner(config []byte) (Planner, Findings) {
	switch {
	case f.Order != nil:
		return Planner{Order: f.Order}, nil
	case config == nil:
		return Planner{Order: sortorder.Default()}, nil
	}
	order, err := sortorder.Parse(config)
	if err != nil {
		return Planner{}, problemFindings(configMeta(config), err)
	}
	return Planner{Order: order, Config: configMeta(config).ID}, nil
}

// configMeta returns the metadata of the functionConfig.
func configMeta(config []byte) object.Meta {
	parsed, err := edit.ReadTree(config)
	if err != nil || len(parsed.Metas()) != 1 {
		return object.Meta{}
	}
	return parsed.Metas()[0]
}

// problemFindings converts the errors of a configuration to findings, which name it if it
// has a name: a build may have several orders.
func problemFindings(config object.Meta, err error) Findings {
	var problems sortorder.Problems
	if !errors.As(err, &problems) {
		return Findings{{Severity: Error, Message: err.Error()}}
	}
	var about *object.Meta
	if config.Name != "" {
		about = &config
	}
	var out Findings
	for _, p := range problems {
		out.add(Finding{Severity: Error, Object: about, Field: p.Path, Message: p.Message})
	}
	return out
}

// layersOf returns the layers of the sorted resources after the changes.
func layersOf(metas []object.Meta, decision Decision) []string {
	out := make([]string, 0, len(metas))
	for _, i := range decision.Sorted {
		layer := metas[i].Annotations[stamp.LayerAnnotation]
		if changed, ok := decision.Changes[i].Set[stamp.LayerAnnotation]; ok {
			layer = changed
		}
		if decision.HoistReasons[i] != "" {
			layer = "" // it is within another layer
		}
		out = append(out, layer)
	}
	return out
}
