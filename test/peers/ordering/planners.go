package main

import (
	kappconfig "carvel.dev/kapp/pkg/kapp/config"
	"carvel.dev/kapp/pkg/kapp/diffgraph"
	"carvel.dev/kapp/pkg/kapp/logger"
	kappresources "carvel.dev/kapp/pkg/kapp/resources"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/graph"
)

// planner prepares manifests, unmeasured, and returns the function to measure, which
// returns the number of edges.
type planner func(manifests []map[string]any) (func() (int, error), error)

func cliUtils(manifests []map[string]any) (func() (int, error), error) {
	var objects object.UnstructuredSet
	for _, m := range manifests {
		objects = append(objects, &unstructured.Unstructured{Object: m})
	}
	return func() (int, error) {
		g, err := graph.DependencyGraph(objects)
		if err != nil {
			return 0, err
		}
		edges := 0
		for _, o := range objects {
			edges += len(g.Dependencies(object.UnstructuredToObjMetadata(o)))
		}
		_, err = g.Sort()
		return edges, err
	}, nil
}

// upsert is a change for kapp's graph.
type upsert struct{ resource kappresources.Resource }

func (u upsert) Resource() kappresources.Resource { return u.resource }
func (u upsert) Op() diffgraph.ActualChangeOp     { return diffgraph.ActualChangeOpUpsert }

func kapp(manifests []map[string]any) (func() (int, error), error) {
	var changes []diffgraph.ActualChange
	for _, m := range manifests {
		changes = append(changes, upsert{kappresources.NewResourceUnstructured(unstructured.Unstructured{Object: m}, kappresources.ResourceType{})})
	}
	_, conf, err := kappconfig.NewConfFromResourcesWithDefaults(nil)
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		g, err := diffgraph.NewChangeGraph(changes, conf.ChangeGroupBindings(), conf.ChangeRuleBindings(), logger.NewTODOLogger())
		if err != nil {
			return 0, err
		}
		edges := 0
		for _, c := range g.All() {
			edges += len(c.WaitingFor)
		}
		return edges, nil
	}, nil
}
