package sortorder_test

import (
	"fmt"
	"log"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// The order of the kustomize KEP: the first selector that matches places a resource, and
// kinds decide within a layer.
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
