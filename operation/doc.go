// Package operation has the commands that read or change a cluster as values: a struct of
// options, and Run. Flags fill it, a fleet copies it for each of its clusters, a plan file stores
// it as JSON, and a Go program writes it:
//
//	op := operation.NewApply()
//	op.Files, op.Set, op.Prune = []string{"app.yaml"}, "shop", true
//	err := op.Run(ctx, console.New(os.Stdin, os.Stdout, os.Stderr))
//
// The options have the defaults of the command line when New… returned them. An operation prints
// what its command prints. Package apply applies objects without that.
package operation
