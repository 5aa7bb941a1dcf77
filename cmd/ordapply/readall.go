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

// readAll reads the manifests and the planning options. If a manifest or the
// order cannot be read, the error also contains everything that is wrong with
// the rest, so that it can be fixed in one pass.
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

// readParts reads the manifests and the planning options. It returns what could
// be read together with the errors.
func readParts(cmd *cobra.Command, in *inputFlags, planning *planningFlags) ([]apply.Input, ordering.Options, error) {
	options, wrong := planning.options(cmd.Context(), in.order)
	reading := *in
	if wrong != nil {
		without, other := planning.options(cmd.Context(), "")
		if other != nil || in.order == "" { // the error is not in the order
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

// scopeOf returns the scope of a stream according to flags and kubeconfig,
// without contacting the cluster. Members of an apply set may be in other
// namespaces.
func scopeOf(cluster *genericclioptions.ConfigFlags, set string) func(context.Context) apply.Scope {
	return func(ctx context.Context) apply.Scope {
		known, err := readContext(ctx, cluster)
		if err != nil {
			known = kubeconfig{namespace: deref(cluster.Namespace)}
		}
		return apply.Scope{Namespace: cmp.Or(known.namespace, "default"), Enforce: known.enforce && set == ""}
	}
}
