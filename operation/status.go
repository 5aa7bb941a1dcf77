package operation

import (
	"context"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/operation/option"
)

// Status shows the health of an apply set.
type Status struct {
	option.Health
	// Cluster selects the cluster, as kubectl's flags do.
	Cluster *genericclioptions.ConfigFlags
	// Set is the NAME of the parent Secret, or KIND/NAME. RunOn lists the sets of the namespace
	// without it.
	Set string
	// Output is the format of standard output: text or json.
	Output string
	// Watch shows changes until it is interrupted.
	Watch bool
	// Tree shows what the members own, down to their Pods.
	Tree bool
	// StatusGrace bounds the wait for the status of a custom resource; 0: do not wait.
	StatusGrace time.Duration
}

// NewStatus returns the default options.
func NewStatus() Status {
	return Status{Cluster: genericclioptions.NewConfigFlags(true), Output: "text", StatusGrace: 15 * time.Second}
}

// RunOn prints the status. Its error says why the set is not ready.
func (s Status) RunOn(ctx context.Context, c *console.Console) error {
	o, err := s.observer(ctx, c)
	if err != nil {
		return err
	}
	switch {
	case s.Set == "":
		return status.PrintSets(ctx, c, o.Target, o.Target.Scope.Namespace, s.Output)
	case s.Tree:
		err = o.PrintTree(ctx, c)
	case s.Watch:
		err = o.Follow(ctx, c, s.Output)
	default:
		err = o.Print(ctx, c, s.Output)
	}
	return connect.ExplainForbidden(err, o.Target, s.Set, "--status")
}

// Read returns the status, which has no members if the set cannot be read, and as the error why
// the set is not ready.
func (s Status) Read(ctx context.Context, c *console.Console) (status.Document, error) {
	o, err := s.observer(ctx, c)
	if err != nil {
		return status.Document{}, err
	}
	now, err := o.Read(ctx)
	return now, connect.ExplainForbidden(err, o.Target, s.Set, "--status")
}

func (s *Status) observer(ctx context.Context, c *console.Console) (*status.Observer, error) {
	if err := usage.OneOf("output", s.Output, "text", "json"); err != nil {
		return nil, err
	}
	assessor, err := input.Assessor(ctx, c, s.Health)
	if err != nil {
		return nil, err
	}
	t, err := connect.To(ctx, c, s.Cluster)
	return &status.Observer{Target: t, Name: s.Set, Assessor: assessor, Grace: s.StatusGrace}, err
}
