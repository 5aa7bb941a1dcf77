package fn

import (
	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Process sorts and stamps a ResourceList of the KRM functions SDK: Function is
// a ResourceListProcessor. Items and Results of the list are replaced; when the
// run failed, only Results. The SDK's AsMain, Run and ToYAML sort the items by
// name when they print them, so that a program built on these keeps the stamps
// and loses the order of the text.
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

// sdkTree is the list in the form in which a stream is read.
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
