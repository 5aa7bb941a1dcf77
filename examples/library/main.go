// Command library applies the manifests on standard input, in their order.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
)

func main() {
	var objects []*unstructured.Unstructured
	for _, m := range must(manifest.Read("STDIN", os.Stdin)) {
		objects = append(objects, m.Unstructured)
	}
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	cluster := must(kube.Connect(config))
	show := func(e event.Event) { fmt.Println(e.ID, e.State) }
	must(apply.Objects(context.Background(), cluster, objects, apply.Options{Manager: "my-tool", Events: show}))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
