// Command library applies the manifests on standard input, in their order.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	manifests := must(manifest.Read("STDIN", os.Stdin))
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	cluster := must(kube.Connect(config))
	stream := must(apply.NewStream(apply.Inputs(manifests), apply.Scope{Namespace: "default", Kind: cluster.Kind}))
	plan := must(stream.Plan(ordering.Options{}))
	applier := apply.Applier{Cluster: cluster, Manager: "my-tool", Events: func(e event.Event) { fmt.Println(e.ID, e.State) }}
	must(applier.Run(context.Background(), plan, stream.Objects))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
