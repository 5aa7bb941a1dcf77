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

// setVerb is what verbs about one apply set have in common: its name is their
// argument.
type setVerb struct {
	cluster *genericclioptions.ConfigFlags
	output  string
}

func (v *setVerb) register(cmd *cobra.Command) {
	v.cluster = genericclioptions.NewConfigFlags(true)
	v.cluster.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&v.output, "output", "o", "text", "text or json")
}

// connect finds the cluster.
func (v *setVerb) connect(ctx context.Context) (*target, error) {
	if err := oneOf("output", v.output, "text", "json"); err != nil {
		return nil, err
	}
	return connect(ctx, v.cluster, func(*rest.Config) {})
}

// known is an apply set that is on a cluster, and its history.
type known struct {
	*state.Set
	history state.History
}

// known reads the set of a name, whichever tool keeps it.
func (t *target) known(ctx context.Context, name string) (known, error) {
	gvk, id, err := t.parent(ctx, name)
	if err != nil {
		return known{}, err
	}
	set, err := state.Open(ctx, t.cluster, gvk, id, true)
	if err == nil {
		err = set.Recover(ctx, t.historyOf(set))
	}
	if apierrors.IsForbidden(err) && !set.Exists() { // what may not be read is not there, to this account
		err = nil
	}
	if err == nil && !set.Known() {
		err = fmt.Errorf("there is no apply set %s: its parent, %s, does not exist (-n names its namespace; ordapply apply --applyset %s makes one)", name, id, name)
	}
	if err != nil {
		return known{}, err
	}
	return known{set, t.historyOf(set)}, nil
}

func (t *target) historyOf(set *state.Set) state.History {
	return state.History{Cluster: t.cluster, Parent: set.Parent, Namespace: t.home}
}
