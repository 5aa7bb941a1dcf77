package operation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ordapply/ordapply/operation"
)

// A Go program writes the options of a command, and runs it.
func ExamplePlan() {
	op := operation.NewPlan()
	op.Files, op.DryRun = []string{"testdata/app.yaml"}, "client"
	if err := op.Run(context.Background(), operation.Streams{Out: os.Stdout, Err: os.Stderr}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// wave 1/2 (prerequisites)
	//   Namespace shop           prerequisite: CRDs and Namespaces go first
	// wave 2/2
	//   ConfigMap shop/settings
}
