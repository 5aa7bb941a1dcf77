package manifest_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/ordapply/ordapply/manifest"
)

// The items of a List are manifests of their own; a document with only comments is none.
func ExampleRead() {
	stream := `# Source: shop/templates/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
# nothing here
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: web}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`
	manifests, err := manifest.Read("app.yaml", strings.NewReader(stream))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range manifests {
		fmt.Printf("%s %s: %s, chart %q\n", m.GetKind(), m.GetName(), m.Source, m.Chart)
	}
	// Output:
	// ConfigMap settings: app.yaml, document 1 (line 2), chart "shop"
	// Service web: app.yaml, document 2 (line 8), chart ""
	// Deployment web: app.yaml, document 2 (line 8), chart ""
}

// All errors are reported together, and none quotes a value.
func ExampleRead_errors() {
	stream := `apiVersion: v1
kind: ConfigMap
metadata: {generateName: run-}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData:
  password: hunter2
  password: hunter3
`
	_, err := manifest.Read("STDIN", strings.NewReader(stream))
	fmt.Println(err)
	// Output:
	// STDIN, document 1 (line 1): ConfigMap run-…: metadata.generateName creates a new object on each run, but apply needs a stable name: set metadata.name, or create it with kubectl create
	// STDIN, document 2 (line 5): yaml: unmarshal errors: line 10: duplicate key
}
