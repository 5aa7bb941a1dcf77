package fn_test

import (
	"fmt"
	"log"
	"strings"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

const order = `
apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata: {name: platform}
sortOrder:
- matchAnnotations: {tier: data}
  layer: data
`

// As a filter for plain streams.
func ExampleProcessor_Run() {
	parsed, err := sortorder.Parse([]byte(order))
	if err != nil {
		log.Fatal(err)
	}
	out := fn.Processor{Order: parsed}.Run([]byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
---
apiVersion: v1
kind: Service
metadata:
  name: db
  annotations:
    tier: data
`))
	fmt.Print(string(out.Stream()))
	// Output:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: db
	//   annotations:
	//     ordapply.dev/layer: platform/data
	//     ordapply.dev/wave: "0"
	//     tier: data
	// ---
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   annotations:
	//     ordapply.dev/layer: platform/unmatched
	//     ordapply.dev/unmatched: "true"
	//   name: settings
}

// indented indents the order below a key.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// For the annotations of resources in memory, without YAML.
func ExamplePlanner_Plan() {
	parsed, err := sortorder.Parse([]byte(order))
	if err != nil {
		log.Fatal(err)
	}
	db := object.Meta{ID: object.ID{Kind: "Service", Name: "db"}, Version: "v1", Annotations: map[string]string{"tier": "data"}}
	decision := fn.Planner{Order: parsed}.Plan([]object.Meta{db})
	fmt.Println(decision.Changes[0].Set["ordapply.dev/layer"])
	// Output: platform/data
}

// As a step of a function built with the KRM functions SDK. Its AsMain takes a processor as
// sdk.ResourceListProcessorFunc(processor.Process), and sorts items by name when it prints.
func ExampleProcessor_Process() {
	list, err := sdk.ParseResourceList([]byte(`
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings}
- apiVersion: v1
  kind: Service
  metadata: {name: db, annotations: {tier: data}}
functionConfig:` + indented(order)))
	if err != nil {
		log.Fatal(err)
	}
	if ok, err := (fn.Processor{}).Process(list); !ok {
		log.Fatal(err)
	}
	for _, item := range list.Items {
		fmt.Println(item.GetKind(), item.GetAnnotation("ordapply.dev/layer"))
	}
	// Output:
	// Service platform/data
	// ConfigMap platform/unmatched
}
