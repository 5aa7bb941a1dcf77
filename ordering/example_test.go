package ordering_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A Deployment that reads a Secret comes after it, in whichever order they are given. A
// declared dependency waits until the other resource is ready, and starts a wave.
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
	plan, err := ordering.Build(resources, ordering.Options{})
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

// CheckKinds finds names of kinds that mean nothing.
func ExampleCheckKinds() {
	faults, _ := ordering.CheckKinds(nil, ordering.Options{PrerequisiteKinds: []string{"storage.k8s.io/v1/StorageClass", "Storagecls"}}, nil)
	for _, fault := range faults {
		fmt.Fprintln(os.Stdout, fault)
	}
	// Output:
	// --prerequisite-kinds: storage.k8s.io/v1/StorageClass: a kind is written Kind or Kind.group: write StorageClass.storage.k8s.io
	// --prerequisite-kinds: Storagecls: no kind is called that; did you mean StorageClass?
}
