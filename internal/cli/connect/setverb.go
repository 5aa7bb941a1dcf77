package connect

import (
	"context"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
)

// Command holds the flags of commands about one apply set.
type Command struct {
	cluster *genericclioptions.ConfigFlags
	Output  string
}

// Register defines the flags of a command on a set.
func (v *Command) Register(set *pflag.FlagSet) {
	v.cluster = genericclioptions.NewConfigFlags(true)
	v.cluster.AddFlags(set)
	set.StringVarP(&v.Output, "output", "o", "text", "text or json")
}

// Connect connects to the cluster.
func (v *Command) Connect(ctx context.Context, c *console.Console) (*Target, error) {
	if err := usage.OneOf("output", v.Output, "text", "json"); err != nil {
		return nil, err
	}
	return To(ctx, c, v.cluster)
}
