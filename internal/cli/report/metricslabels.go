package report

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
)

// SeriesLabels returns the labels of every series of a run: the kubeconfig context, the
// apply set with its namespace, and --metrics-label's, which take precedence.
func SeriesLabels(ctx context.Context, cluster *genericclioptions.ConfigFlags, set string, added map[string]string) map[string]string {
	known, _ := connect.ReadContext(ctx, cluster) // connect reports the error
	labels := map[string]string{"context": cmp.Or(*cluster.Context, known.Context)}
	if set != "" {
		labels["applyset"] = strings.TrimPrefix(cmp.Or(known.Namespace, *cluster.Namespace)+"/"+set, "/")
	}
	maps.Copy(labels, added)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}

// refusedLabels returns the labels of a run whose flags were invalid.
func refusedLabels(ctx context.Context, cmd *cobra.Command, c *console.Console, args []string) map[string]string {
	cluster := genericclioptions.NewConfigFlags(false)
	*cluster.Context = flags.FlagValue(ctx, cmd, c, args, "context")
	*cluster.KubeConfig = flags.FlagValue(ctx, cmd, c, args, "kubeconfig")
	*cluster.Namespace = flags.FlagValue(ctx, cmd, c, args, "namespace")
	set := cmd.Flags().Arg(0) // the set, for rollback
	if cmd.Flags().Lookup("applyset") != nil {
		set = flags.FlagValue(ctx, cmd, c, args, "applyset")
	}
	var added map[string]string
	loose := pflag.NewFlagSet("", pflag.ContinueOnError)
	loose.StringToStringVar(&added, "metrics-label", nil, "")
	if text := strings.Trim(flags.FlagValue(ctx, cmd, c, args, "metrics-label"), "[]"); text != "" {
		_ = loose.Set("metrics-label", text)
	}
	return SeriesLabels(ctx, cluster, set, added)
}
