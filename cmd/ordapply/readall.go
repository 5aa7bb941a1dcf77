package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/ordering"
)

// readAll reads the manifests and how to plan them. Where a manifest or the order
// cannot be read, the error holds all that is wrong with what could be, too: a
// stream is corrected once.
func readAll(cmd *cobra.Command, in *inputFlags, planning *planningFlags, scope func(context.Context) apply.Scope) ([]apply.Input, ordering.Options, error) {
	inputs, options, wrong := readParts(cmd, in, planning)
	if wrong == nil || len(inputs) == 0 || cmd.Context().Err() != nil {
		return inputs, options, wrong
	}
	stream, err := apply.NewStream(markHooks(inputs, options), scope(cmd.Context()))
	faults, _ := checkAnnotations(stream)
	_, unplanned := stream.Plan(options)
	return nil, options, errors.Join(wrong, err, errors.Join(faults...), unplanned)
}

// readParts reads the manifests and how to plan them, and gives what could be read
// together with what could not.
func readParts(cmd *cobra.Command, in *inputFlags, planning *planningFlags) ([]apply.Input, ordering.Options, error) {
	options, wrong := planning.options(cmd.Context(), in.order)
	reading := *in
	if wrong != nil {
		without, other := planning.options(cmd.Context(), "")
		if other != nil || in.order == "" { // it is not the order that is wrong
			return nil, options, wrong
		}
		options, reading.order, reading.requireOrder = without, "", false
	}
	inputs, unread := reading.read(cmd)
	if wrong != nil && errors.Is(unread, errNoResources) {
		unread = nil
	}
	options.Incomplete = unread != nil
	return inputs, options, errors.Join(wrong, unread)
}

// scopeOf is the scope that flags and the kubeconfig give a stream, before the
// cluster is asked anything. Members of an apply set may be in other namespaces.
func scopeOf(cluster *genericclioptions.ConfigFlags, set string) func(context.Context) apply.Scope {
	return func(ctx context.Context) apply.Scope {
		known, err := readContext(ctx, cluster)
		if err != nil {
			known = kubeconfig{namespace: deref(cluster.Namespace)}
		}
		return apply.Scope{Namespace: cmp.Or(known.namespace, "default"), Enforce: known.enforce && set == ""}
	}
}
