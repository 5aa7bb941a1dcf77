package remove_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// A Remover deletes the objects of a stream, in reverse order.
func ExampleRemover_Run() {
	var (
		ctx     = context.Background()
		cluster kube.Cluster  // of kube.Connect
		stream  *apply.Stream // of apply.NewStream
	)
	order, err := planner.DeletionOrder(stream.Resources, ordering.Options{})
	if err != nil {
		log.Fatal(err)
	}
	live, err := apply.Find(ctx, cluster, stream.Resources)
	if err != nil {
		log.Fatal(err)
	}
	summary, err := remove.Remover{Cluster: cluster}.Run(ctx, order, live)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Count(event.Deleted), "deleted,", summary.Count(event.Kept), "kept")
}
