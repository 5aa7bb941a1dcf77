package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// errNotTrusted is the answer no.
var errNotTrusted = errors.New("not confirmed: nothing was changed; --yes accepts all of this without asking")

func newTrust(c *console.Console) *cobra.Command {
	var yes bool
	lockTimeout := 30 * time.Second
	cluster := genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Accept revisions and members of an apply set that its parent does not list",
		Long: `Accept revisions of an apply set that its parent does not list: those that an
older version of ordapply stored, or all after the parent was lost; and members
that no revision contains, which --prune and delete leave alone. ordapply prints
these and asks. Rollbacks apply what a revision contains, deletions run its
hooks, and members are deleted with the set: accept only what runs of this set
stored and applied. ordapply history show prints a revision.`,
		Example: `  ordapply history shop -n shop
  ordapply applyset trust shop -n shop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := connect.To(cmd.Context(), c, cluster)
			if err != nil {
				return err
			}
			id, accepted, err := trust(cmd.Context(), c, t, args[0], lockTimeout, yes)
			if err != nil {
				return connect.ExplainForbidden(err, t, args[0])
			}
			_, err = plain.Fprintf(c.Out, "%s lists %s more\n", report.ResourceName(id), plain.Count(len(accepted.Revisions), "revision")+membersText(accepted.Members))
			return err
		},
	}
	cluster.AddFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "accept all of this without asking")
	flags.LockTimeout(cmd.Flags(), &lockTimeout)
	return cmd
}

// membersText counts accepted members.
func membersText(members []object.ID) string {
	if len(members) == 0 {
		return ""
	}
	return " and " + plain.Count(len(members), "member")
}

// trust makes the parent of a set list all revisions and members, and returns it with the
// new ones.
func trust(ctx context.Context, c *console.Console, t *connect.Target, name string, lockTimeout time.Duration, yes bool) (object.ID, state.Untrusted, error) {
	gvk, id, err := connect.ParentOf(ctx, t, name)
	if err != nil {
		return id, state.Untrusted{}, err
	}
	run := state.Trust{
		SetRef:  state.SetRef{Cluster: t.Cluster, Parent: id, Kind: gvk, Namespace: t.RecordsNamespace, LockTimeout: lockTimeout},
		Confirm: func(found state.Untrusted) error { return confirmTrust(ctx, c, found, yes) },
	}
	accepted, err := run.Do(ctx)
	return id, accepted, err
}

// confirmTrust prints revisions and members and asks whether a person trusts them.
func confirmTrust(ctx context.Context, c *console.Console, found state.Untrusted, yes bool) error {
	on := c.Err
	for _, r := range found.Revisions {
		plain.Fprintf(on, "revision %d, %s, stored %s%s\n", r.Number, r.Status, r.Created.Format(time.RFC3339), by(r.User))
		plain.Fprintf(on, "  %s: %s\n", plain.Count(len(r.Resources), "resource"), contentsOf(r.Resources))
		if len(r.Hooks) > 0 {
			plain.Fprintf(on, "  %s: %s\n", plain.Count(len(r.Hooks), "hook"), contentsOf(r.Hooks))
		}
	}
	for _, id := range found.Members {
		plain.Fprintf(on, "member in no revision: %s\n", id)
	}
	if yes {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || os.Getenv("CI") != "" || !term.IsTerminal(int(in.Fd())) {
		return errNotTrusted
	}
	plain.Fprintf(on, "did runs of this apply set store and apply all of this? [y/N] ")
	err := c.Confirm(ctx, on)
	switch {
	case errors.Is(err, console.ErrNo):
		return errNotTrusted
	case errors.Is(err, event.ErrInterrupted):
		return context.Cause(ctx)
	}
	return err
}

func by(user string) string {
	if user == "" {
		return ""
	}
	return " by " + user
}

// contentsOf names resources.
func contentsOf(resources []ordering.Resource) string {
	return strings.Join(plain.Sample(resources, 30, "and %d more", func(r ordering.Resource) string { return r.ID.String() }), ", ")
}
