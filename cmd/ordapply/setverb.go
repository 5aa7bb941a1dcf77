package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/state"
)

// setCommand holds the flags of commands about one apply set.
type setCommand struct {
	cluster *genericclioptions.ConfigFlags
	output  string
}

func (v *setCommand) register(cmd *cobra.Command) {
	v.cluster = genericclioptions.NewConfigFlags(true)
	v.cluster.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&v.output, "output", "o", "text", "text or json")
}

// connect connects to the cluster.
func (v *setCommand) connect(ctx context.Context) (*target, error) {
	if err := oneOf("output", v.output, "text", "json"); err != nil {
		return nil, err
	}
	return connect(ctx, v.cluster, func(*rest.Config) {})
}

// existingSet is an apply set in the cluster, with its history.
type existingSet struct {
	*state.Set
	history state.History
}

// existingSet reads the set with a name, whichever tool manages it.
func (t *target) existingSet(ctx context.Context, name string) (existingSet, error) {
	gvk, id, err := t.parent(ctx, name)
	if err != nil {
		return existingSet{}, err
	}
	set, err := state.Open(ctx, t.cluster, gvk, id, true)
	if err == nil {
		err = set.Recover(ctx, t.historyOf(set))
	}
	if apierrors.IsForbidden(err) && !set.Exists() { // this account cannot tell whether it exists
		err = nil
	}
	if err == nil && !set.Known() {
		err = fmt.Errorf("apply set %s not found: its parent, %s, does not exist (-n sets its namespace; ordapply apply --applyset %s creates one)", name, id, name)
	}
	if err != nil {
		return existingSet{}, err
	}
	return existingSet{set, t.historyOf(set)}, nil
}

func (t *target) historyOf(set *state.Set) state.History {
	return state.History{Cluster: t.cluster, Parent: set.Parent, Namespace: t.home}
}
