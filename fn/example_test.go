package fn_test

import (
	"fmt"
	"log"
	"strings"

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
func ExampleFunction_Run() {
	parsed, err := sortorder.Parse([]byte(order))
	if err != nil {
		log.Fatal(err)
	}
	out := fn.Function{Order: parsed}.Run([]byte(`
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
