// Package kptsdk runs package fn in programs built on the KRM functions SDK, such as
// functions of kpt. It is apart from fn so that importing fn does not import the SDK.
//
//	ok, err := kptsdk.Processor(fn.Function{Order: order}).Process(list)
//
// The SDK's AsMain, Run and ToYAML sort items by name when they print: programs that use
// these keep the stamps but not the order.
package kptsdk

import (
	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// Processor returns a function that sorts and stamps a ResourceList of the SDK. It
// replaces the list's Items and adds to its Results. If the run fails, it only adds
// Results and returns false; its error is about items that cannot be read.
func Processor(f fn.Function) sdk.ResourceListProcessor {
	return sdk.ResourceListProcessorFunc(func(list *sdk.ResourceList) (bool, error) {
		tree, err := edit.ReadList(listNode(list))
		if err != nil {
			return false, err
		}
		decision := f.Decide(tree.Config(), tree.Metas(), tree.Object)
		for _, finding := range decision.Findings {
			list.Results = append(list.Results, result(finding))
		}
		if decision.Findings.Failed() {
			return false, nil
		}
		list.Items = nil
		for _, i := range decision.Sorted {
			edit.Change(decision.Changes[i]).Apply(tree.Body(i))
			list.Items = append(list.Items, sdk.MoveToKubeObject(yaml.NewRNode(tree.Body(i))))
		}
		return true, nil
	})
}

func listNode(list *sdk.ResourceList) *yaml.Node {
	items := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, item := range list.Items {
		items.Content = append(items.Content, item.CopyToResourceNode().YNode())
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	tree.SetField(root, "items", items)
	if list.FunctionConfig != nil && !list.FunctionConfig.IsEmpty() {
		tree.SetField(root, "functionConfig", list.FunctionConfig.CopyToResourceNode().YNode())
	}
	return root
}

// result converts a finding to a result of the SDK.
func result(f fn.Finding) *sdk.Result {
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
