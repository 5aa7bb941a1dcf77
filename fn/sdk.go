package fn

import (
	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Process sorts and stamps a ResourceList of the KRM functions SDK, whose
// ResourceListProcessor it implements. It replaces the list's Items and adds to its
// Results. If the run fails, it only adds Results and returns false; its error is
// about items that cannot be read. The SDK's AsMain, Run and ToYAML sort items by
// name when they print: programs that use these keep the stamps but not the order.
func (f Function) Process(list *sdk.ResourceList) (bool, error) {
	source, err := sdkTree(list)
	if err != nil {
		return false, err
	}
	decider, findings := f.decider(source)
	var decision Decision
	if !findings.Failed() {
		decider.Objects = source.object
		decision = decider.decide(source.metas())
		findings = decision.Findings
	}
	for _, finding := range findings {
		list.Results = append(list.Results, finding.sdkResult())
	}
	if findings.Failed() {
		return false, nil
	}
	list.Items = nil
	for _, i := range decision.Sorted {
		decision.Changes[i].apply(source.items[i].body)
		list.Items = append(list.Items, sdk.MoveToKubeObject(yaml.NewRNode(source.items[i].body)))
	}
	return true, nil
}

// sdkTree converts the list to a tree.
func sdkTree(list *sdk.ResourceList) (*tree, error) {
	items := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, item := range list.Items {
		items.Content = append(items.Content, item.CopyToResourceNode().YNode())
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	setField(root, "items", items)
	if list.FunctionConfig != nil && !list.FunctionConfig.IsEmpty() {
		setField(root, "functionConfig", list.FunctionConfig.CopyToResourceNode().YNode())
	}
	t := &tree{}
	return t, t.addList(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}, "")
}

func (f Finding) sdkResult() *sdk.Result {
	r := &sdk.Result{Message: f.Message, Severity: sdk.Severity(f.Severity)}
	if f.Object != nil {
		r.ResourceRef = &sdk.ResourceRef{
			APIVersion: f.Object.APIVersion(), Kind: f.Object.Kind, Name: f.Object.Name, Namespace: f.Object.Namespace,
		}
	}
	if f.Field != "" {
		r.Field = &sdk.Field{Path: f.Field}
	}
	return r
}
