package connect

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
)

// clusterTimeout limits the wait for a cluster.
const clusterTimeout = 3 * time.Second

// InstallCompletion completes the flags of all commands below root, and the names of apply
// sets as arguments of commands whose usage line names one.
func InstallCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if complete := valuesOf(flag); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails only for unknown flags
			}
		})
		if takesSet(cmd) {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				switch {
				case len(args) == 0:
					return setNames(cmd, args, typed)
				case strings.Count(cmd.Use, " REVISION") >= len(args):
					return revisions(cmd, args[0])
				}
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
		}
		InstallCompletion(cmd)
	}
}

// takesSet reports whether a command's argument is an apply set.
func takesSet(cmd *cobra.Command) bool {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	return arguments == "NAME" || arguments == "[NAME]" || strings.HasPrefix(arguments, "NAME ")
}

// valuesOf returns the function that completes a flag; nil if its values are
// not known, and the shell completes files.
func valuesOf(flag *pflag.Flag) cobra.CompletionFunc {
	switch flag.Name {
	case "context", "contexts":
		return fromKubeconfig(func(n Names) []string { return n.Contexts })
	case "cluster":
		return fromKubeconfig(func(n Names) []string { return n.Clusters })
	case "user":
		return fromKubeconfig(func(n Names) []string { return n.Users })
	case "namespace":
		return namespaces
	case "applyset":
		return setNames
	}
	if choices := choicesOf(flag); len(choices) > 0 {
		return cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
	}
	return nil
}

// choicesOf returns the values of a flag that has a few, if its usage names them.
func choicesOf(flag *pflag.Flag) (named []string) {
	words := strings.FieldsFunc(flag.Usage, func(r rune) bool { return r < 'a' || r > 'z' })
	for _, choice := range candidates(flag.Name) {
		if slices.Contains(words, choice) {
			named = append(named, choice)
		}
	}
	return named
}

// candidates returns the values of flags with a name.
func candidates(name string) []string {
	switch name {
	case "adopt":
		return []string{"never", "unowned", "any"}
	case "dry-run":
		return []string{"none", "client", "server"}
	case "frame":
		return []string{"argocd", "helm", "none"}
	case "hooks":
		return []string{"run", "skip", "refuse"}
	case "output":
		return []string{"text", "name", "json", "yaml", "markdown", "dot", "mermaid", "svg"}
	case "schedule":
		return []string{"waves", "graph"}
	case "to":
		return []string{"kubectl"}
	}
	return nil
}

// clusterFlags returns kubectl's flags as they were typed so far.
func clusterFlags(cmd *cobra.Command) *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(true)
	known := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.AddFlags(known)
	cmd.Flags().Visit(func(typed *pflag.Flag) {
		if known.Lookup(typed.Name) != nil {
			_ = known.Set(typed.Name, typed.Value.String())
		}
	})
	return flags
}

// fromKubeconfig completes names of a kubeconfig.
func fromKubeconfig(which func(Names) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := limited(cmd)
		defer cancel()
		names, err := ReadNames(ctx, clusterFlags(cmd))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return which(names), cobra.ShellCompDirectiveNoFileComp
	}
}

func limited(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	return context.WithTimeout(ctx, clusterTimeout)
}

// ask returns a function's results from the cluster.
func ask(cmd *cobra.Command, find func(context.Context, *Target) []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := limited(cmd)
	defer cancel()
	target, err := To(ctx, new(console.Console), clusterFlags(cmd))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return find(ctx, target), cobra.ShellCompDirectiveNoFileComp
}

func namespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return ask(cmd, func(ctx context.Context, target *Target) []string {
		live, _ := target.Cluster.List(ctx, kube.NamespaceKind(), "", kube.Query{Metadata: true})
		var names []string
		for _, obj := range live {
			names = append(names, obj.GetName())
		}
		return names
	})
}

// setNames completes the apply sets of the namespace.
func setNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return ask(cmd, func(ctx context.Context, target *Target) []string {
		sets, _, _ := ListSets(ctx, target.Cluster, target.Scope.Namespace)
		var names []string
		for _, set := range sets {
			names = append(names, set.Parent.Argument())
		}
		return names
	})
}

// revisions completes the revisions of an apply set, with their history entries.
func revisions(cmd *cobra.Command, name string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return ask(cmd, func(ctx context.Context, target *Target) []string {
		set, err := OpenExisting(ctx, target, name)
		if err != nil {
			return nil
		}
		entries, _ := set.History.List(ctx)
		var numbers []string
		for _, e := range entries {
			about := plain.OneLine(string(e.Status) + " " + e.Message)
			numbers = append(numbers, cobra.CompletionWithDesc(strconv.Itoa(e.Number), plain.Line(about)))
		}
		return numbers
	})
}
