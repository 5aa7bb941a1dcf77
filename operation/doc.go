// Package operation has the commands that read or change a cluster as values: a struct of
// options, and Run. Flags fill it, a fleet copies it for each of its clusters, a plan file stores
// it as JSON, and a Go program writes it:
//
//	op := operation.NewApply()
//	op.Files, op.Set, op.Prune = []string{"app.yaml"}, "shop", true
//	err := op.Run(ctx, operation.Streams{Out: os.Stdout, Err: os.Stderr})
//
// The options have the defaults of the command line when New… returned them. An operation prints
// what its command prints; package apply applies objects without that. RunOn is Run with the
// console of a command, for the programs of this module.
package operation
