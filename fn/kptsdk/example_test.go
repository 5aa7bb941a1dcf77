package kptsdk_test

import (
	"fmt"
	"log"

	sdk "github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/fn/kptsdk"
)

// As a step in a function built with the KRM functions SDK. Its Run and AsMain
// sort their output by name, so the text loses the order; the stamps are kept.
func ExampleProcessor() {
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
functionConfig:
  apiVersion: ordapply.dev/v1alpha1
  kind: SortOrder
  metadata: {name: platform}
  sortOrder:
  - matchAnnotations: {tier: data}
    layer: data
`))
	if err != nil {
		log.Fatal(err)
	}
	if ok, err := kptsdk.Processor(fn.Function{}).Process(list); err != nil || !ok {
		log.Fatal(list.Results, err)
	}
	for _, item := range list.Items {
		fmt.Println(item.GetKind(), item.GetAnnotation("ordapply.dev/layer"))
	}
	// Output:
	// Service platform/data
	// ConfigMap platform/unmatched
}
