package sortorder_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// The order of the kustomize KEP: the first selector that matches places a
// resource, and kinds are sorted within a layer.
func ExampleOrder_Sort() {
	order, err := sortorder.Parse([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: shop}
sortOrder:
- matchAnnotations: {tier: data}
- matchAnnotations: {tier: web}
`))
	if err != nil {
		log.Fatal(err)
	}
	resource := func(kind, name, tier string) object.Meta {
		return object.Meta{ID: object.ID{Kind: kind, Namespace: "shop", Name: name}, Annotations: map[string]string{"tier": tier}}
	}
	metas := []object.Meta{
		resource("Service", "web", "web"),
		resource("ConfigMap", "other", "none"),
		resource("Service", "db", "data"),
		resource("Secret", "db", "data"),
	}
	placements := order.Place(metas)
	for _, i := range order.Sort(metas, sortorder.Ranks(placements)) {
		fmt.Printf("%s: %s\n", placements[i].Layer.Name, metas[i].ID)
	}
	// Output:
	// tier=data: Secret shop/db
	// tier=data: Service shop/db
	// tier=web: Service shop/web
	// unmatched: ConfigMap shop/other
}

// The error of Parse lists everything that is wrong, each problem with its field.
func ExampleParse_problems() {
	_, err := sortorder.Parse([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: shop}
sortOrder:
- matchAnotations: {tier: data}
- matchAnnotations: {tier: web}
  gate: applyed
`))
	var problems sortorder.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p.Path, p.Message)
		}
	}
	// Output:
	// sortOrder[0].matchAnotations unknown field; did you mean matchAnnotations?
	// sortOrder[1].gate is "applyed": write ready or applied
}

// A selector that places no resource is usually misspelt.
func ExampleOrder_UnusedSelectorProblems() {
	order, err := sortorder.Parse([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: shop}
sortOrder:
- matchAnnotations: {teir: data}
`))
	if err != nil {
		log.Fatal(err)
	}
	db := object.Meta{ID: object.ID{Kind: "Service", Namespace: "shop", Name: "db"}, Annotations: map[string]string{"tier": "data"}}
	metas := []object.Meta{db}
	fmt.Println(order.UnusedSelectorProblems(order.Place(metas), metas))
	// Output:
	// sortOrder[0]: order shop, layer teir=data matches nothing; 1 resource has tier=data: did you mean tier?
}

// Layers form a chain unless a layer names its dependencies.
func ExampleOrder_Place() {
	order, err := sortorder.Parse([]byte(`
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: shop}
sortOrder:
- matchAnnotations: {tier: data}
  layer: data
  timeout: 5m
- {kind: Job, layer: jobs, gate: applied}
- {kind: Deployment, layer: apps}
layers:
- {name: apps, dependsOn: [data]}
`))
	if err != nil {
		log.Fatal(err)
	}
	metas := []object.Meta{
		{ID: object.ID{Kind: "Service", Name: "db"}, Annotations: map[string]string{"tier": "data"}},
		{ID: object.ID{Kind: "Job", Name: "warm"}},
		{ID: object.ID{Group: "apps", Kind: "Deployment", Name: "web"}},
	}
	for i, p := range order.Place(metas) {
		fmt.Println(metas[i].ID, p.Layer.Name, p.Layer.Rank, p.Layer.Needs, p.Layer.Timeout, order.Describe(p.Selector))
	}
	// Output:
	// Service db data 0 [] 5m0s sortOrder[0] (tier=data)
	// Job warm jobs 1 [shop/data] 0s sortOrder[1] (kind=Job)
	// Deployment web apps 2 [shop/data] 0s sortOrder[2] (kind=Deployment)
}

// Example finds a resource that only one selector would match. A selector without one is
// an error of Parse.
func ExampleOrder_Example() {
	text := `
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: shop}
sortOrder:
- {kind: Secret}
- matchAnnotations: {tier: data}
`
	order, err := sortorder.Parse([]byte(text))
	if err != nil {
		log.Fatal(err)
	}
	m, _ := order.Example(1)
	fmt.Printf("kind %s, annotations %v\n", m.Kind, m.Annotations)
	_, err = sortorder.Parse([]byte(text + "- {kind: Secret, name: login}\n"))
	fmt.Println(err)
	// Output:
	// kind other, annotations map[tier:data]
	// sortOrder[2]: (kind=Secret and name=login) can never match: sortOrder[0] (kind=Secret) matches everything it selects; move it before sortOrder[0], or remove it
}
