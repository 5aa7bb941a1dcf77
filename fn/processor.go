package fn

import (
	"errors"
	"fmt"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Processor sorts and stamps resources: a ResourceListProcessor of the KRM functions SDK, and
// a filter for text. The zero value takes its order from the functionConfig of a
// ResourceList; without one it uses sortorder.Default.
type Processor struct {
	Order *sortorder.Order // instead of functionConfig; required for a plain stream
	Marks bool             // mark the start and end of layers in a plain stream
}

var _ sdk.ResourceListProcessor = Processor{}

// Process stamps the items of a list, sorts them and adds the findings to its results. If
// one of them is an error it changes only the results, and returns false and the errors. The
// SDK's AsMain, Run and ToYAML sort items by name when they print; Run keeps their order.
func (p Processor) Process(list *sdk.ResourceList) (bool, error) {
	out := p.process(list)
	list.Results = append(list.Results, out.Findings.results()...)
	return !out.Findings.Failed(), out.Findings.Err()
}

// process is Process without results.
func (p Processor) process(list *sdk.ResourceList) Output {
	items, planner, findings := p.start(list)
	if findings.Failed() {
		return Output{Findings: findings}
	}
	switch planner.Order.Carry {
	case sortorder.Pack:
		return planner.pack(list, items)
	case sortorder.Unpack:
		return planner.unpack(list, items)
	}
	out := planner.output(items.metas)
	if out.Findings.Failed() {
		return out
	}
	if err := items.change(list, out.decision); err != nil {
		return planner.failed(err)
	}
	return out
}

// start reads the items and the order of a list.
func (p Processor) start(list *sdk.ResourceList) (items, Planner, Findings) {
	read, err := itemsOf(list)
	if err != nil {
		return items{}, Planner{}, failed(err).Findings
	}
	planner, findings := p.planner(list.FunctionConfig)
	planner.Objects = read.object
	return read, planner, findings
}

// planner returns the Planner with the order: the processor's, the
// functionConfig's, or the default.
func (p Processor) planner(config *sdk.KubeObject) (Planner, Findings) {
	switch {
	case p.Order != nil:
		return Planner{Order: p.Order}, nil
	case config == nil || config.IsEmpty():
		return Planner{Order: sortorder.Default(), unconfigured: true}, nil
	}
	body := bodies(config)[0]
	text, err := tree.Encode(body)
	if err != nil {
		return Planner{}, failed(fmt.Errorf("functionConfig: %w", err)).Findings
	}
	meta, _ := tree.MetaOf(body) // Parse reports what is wrong with it
	order, err := sortorder.Parse(text)
	if err != nil {
		return Planner{}, problemFindings(meta, err)
	}
	data, _, _ := config.NestedStringMap("data")
	// kpt fn eval without arguments sends a ConfigMap without data.
	return Planner{Order: order, Config: meta.ID, unconfigured: meta.GroupKind() == "ConfigMap" && len(data) == 0}, nil
}

// output decides. If that fails, the output is final.
func (d Planner) output(metas []object.Meta) Output {
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return Output{Findings: decision.Findings}
	}
	return Output{Findings: decision.Findings, order: d.Order, metas: metas, decision: decision, changed: !decision.isNoop(metas)}
}

// failed is the output of a run that failed with an error about its order.
func (d Planner) failed(err error) Output {
	out := failed(err)
	out.Findings.about(d.Config)
	return out
}

// items are the items of a ResourceList: their YAML nodes, which the objects of the SDK
// change too, and their metadata.
type items struct {
	bodies []*yaml.Node
	metas  []object.Meta
}

// itemsOf reads the items of a list. It expands aliases where a change of one item would
// change another one.
func itemsOf(list *sdk.ResourceList) (items, error) {
	out := items{bodies: bodies(list.Items...)}
	whole := &yaml.Node{Kind: yaml.SequenceNode, Content: out.bodies}
	if err := tree.IsolateAliases(whole, out.bodies); err != nil {
		return out, err
	}
	for i, body := range out.bodies {
		meta, err := edit.Meta(body)
		if err != nil {
			return out, fmt.Errorf("items[%d] %w", i, err)
		}
		out.metas = append(out.metas, meta)
	}
	return out, nil
}

func (s items) object(i int) map[string]any { return objectOf(s.bodies[i]) }

// change applies a decision to the list.
func (s items) change(list *sdk.ResourceList, decision Decision) error {
	sorted := make(sdk.KubeObjects, 0, len(list.Items))
	for _, i := range decision.Sorted {
		if err := decision.Changes[i].apply(list.Items[i], s.bodies[i], s.metas[i]); err != nil {
			return fmt.Errorf("%s: %w", s.metas[i].ID, err)
		}
		sorted = append(sorted, list.Items[i])
	}
	list.Items = sorted
	return nil
}

// bodies returns the YAML nodes of objects, which the SDK does not export: it puts them into
// a list of ours.
func bodies(objects ...*sdk.KubeObject) []*yaml.Node {
	list := &yaml.Node{Kind: yaml.MappingNode}
	if err := kubeObject(list).SetSlice(subObjects(objects), "items"); err != nil {
		panic(err) // a new map takes any field
	}
	return list.Content[1].Content
}

func subObjects(objects []*sdk.KubeObject) sdk.SliceSubObjects {
	out := make(sdk.SliceSubObjects, len(objects))
	for i, o := range objects {
		out[i] = &o.SubObject
	}
	return out
}

// kubeObject returns the SDK's object of a mapping, which both change.
func kubeObject(body *yaml.Node) *sdk.KubeObject {
	var list sdk.ResourceList
	if err := list.UpsertObjectToItems(body, nil, false); err != nil {
		panic(err) // the SDK takes any node
	}
	return list.Items[0]
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
		out.add(Finding{Severity: Error, Object: about, Field: p.Path, Message: p.Message, file: fileOf(config).path})
	}
	return out
}
