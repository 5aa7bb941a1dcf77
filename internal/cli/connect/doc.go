// Package connect leads a command from its flags to a cluster and to an apply set on it.
//
// It completes values of flags, contexts, namespaces and apply sets at a shell's prompt.
//
//	connect.InstallCompletion(root)
//
// A cluster is asked for at most three seconds. A name that cannot be read is not an error: a
// shell shows none.
//
// It also finds the apply set that a command works on:
//
//	set, err := connect.OpenExisting(ctx, target, "configmap/shop")
//
// It also connects a command to the cluster that kubectl would use, and explains why it
// cannot:
//
//	target, err := connect.To(ctx, console, genericclioptions.NewConfigFlags(true))
//
// It also finds the apply sets of a cluster:
//
//	sets, notes, err := connect.ListSets(ctx, cluster, "shop") // "" for all namespaces
package connect
