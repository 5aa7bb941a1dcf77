package planner_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// A Deployment that uses a Secret is applied after it, in any order of the
// input. A declared dependency waits until the other resource is ready, and
// starts a new wave.
func ExampleBuild() {
	web := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "web", "envFrom": []any{map[string]any{"secretRef": map[string]any{"name": "token"}}}}},
	}}}}
	resources := []ordering.Resource{
		{Object: web, Meta: object.Meta{
			ID:          object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Annotations: map[string]string{"ordapply.dev/depends-on": "apps/namespaces/shop/StatefulSet/db"},
		}},
		{Meta: object.Meta{ID: object.ID{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "db"}}},
		{Meta: object.Meta{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "token"}}},
	}
	plan, err := planner.Build(resources, ordering.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range plan.Steps {
		fmt.Println(plan.WaveTitle(step.Wave), step.ID)
		for _, need := range step.Needs {
			fmt.Printf("  after %s is %s (%s)\n", need.ID, need.Gate, need.Why.Rule)
		}
	}
	// Output:
	// wave 1/2 Secret shop/token
	// wave 1/2 StatefulSet shop/db
	// wave 2/2 Deployment shop/web
	//   after StatefulSet shop/db is ready (depends-on)
	//   after Secret shop/token is applied (pod-template)
}

// A cycle is an error that has every edge of it.
func ExampleBuild_cycle() {
	needs := func(name, other string) ordering.Resource {
		return ordering.Resource{Source: name + ".yaml", Meta: object.Meta{
			ID:          object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name},
			Annotations: map[string]string{"ordapply.dev/depends-on": "/namespaces/shop/ConfigMap/" + other},
		}}
	}
	_, err := planner.Build([]ordering.Resource{needs("a", "b"), needs("b", "a")}, ordering.Options{})
	var cycle *ordering.CycleError
	if errors.As(err, &cycle) {
		for _, edge := range cycle.Cycle {
			fmt.Println(edge.To, "waits for", edge.From, "by", edge.Why.Where)
		}
	}
	// Output:
	// ConfigMap shop/b waits for ConfigMap shop/a by b.yaml
	// ConfigMap shop/a waits for ConfigMap shop/b by a.yaml
}

// Resources are deleted in reverse order: a wave starts when all resources of
// the one before are gone.
func ExampleDeletionOrder() {
	order, err := planner.DeletionOrder([]ordering.Resource{
		{Meta: object.Meta{ID: object.ID{Kind: "Namespace", Name: "shop"}}},
		{Meta: object.Meta{ID: object.ID{Kind: "Service", Namespace: "shop", Name: "web"}}},
		{
			Meta:   object.Meta{ID: object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"}},
			Object: map[string]any{"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}}},
		},
		{Meta: object.Meta{ID: object.ID{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: "one"}, Version: "v1"}},
	}, ordering.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range order.Steps {
		fmt.Println(step.Wave, step.ID)
	}
	// Output:
	// 0 Service shop/web
	// 0 Widget.example.com shop/one
	// 1 Namespace shop
	// 1 CustomResourceDefinition widgets.example.com
}
