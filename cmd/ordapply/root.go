package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/export"
	"github.com/ordapply/ordapply/internal/version"
)

// newRoot returns the whole command.
func newRoot(c *console.Console) *cobra.Command {
	root := &cobra.Command{
		Use:   "ordapply",
		Short: "Apply Kubernetes manifests in their declared order",
		Long: `ordapply applies a stream of manifests in gated waves: CRDs and Namespaces
first, then layer by layer, each when the one before it is ready.

  kustomize build . | ordapply                    apply what kustomize prints
  ordapply apply -f app.yaml --order order.yaml   order it by a SortOrder
  ordapply plan -f app.yaml --order order.yaml    show what that would do

Without a command, the flags are those of apply.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          flags.KnownVerb,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return start(cmd, c)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usage.Errorf("nothing to do: pipe manifests in, or name a command")
		},
	}
	if name := displayName(os.Args[0]); name != "" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	root.Version = version.Own("ordapply").Version
	root.SetVersionTemplate("ordapply {{.Version}}\n")
	root.SetFlagErrorFunc(flags.FlagError)
	root.PersistentFlags().String("config", "", "file with values for flags, one per line; environment variables ORDAPPLY_… take precedence")
	console.RegisterVerbosity(root.PersistentFlags())
	root.SetGlobalNormalizationFunc(console.LongNames)
	root.AddCommand(newApply(c), newPlan(c), newDiff(c), newGraph(c), newSort(c), newVet(c), newExplain(c), newInit(c), export.NewCommand(c), newConsolidate(c), newHealth(c), newReport(c), newRBAC(c), newVersion(c))
	root.AddCommand(newApplySet(c), newDelete(c), status.NewHistory(c), status.NewList(c), newRollback(c), newStatus(c))
	flags.InstallHelp(root, columns,
		flags.Task{Title: "Apply and delete:", Verbs: []string{"apply", "delete", "rollback"}},
		flags.Task{Title: "See what would happen, and why:", Verbs: []string{"plan", "diff", "explain", "graph", "vet"}},
		flags.Task{Title: "Look at what was applied:", Verbs: []string{"status", "history", "list", "report", "applyset"}},
		flags.Task{Title: "Work on streams and their order:", Verbs: []string{"init", "sort", "consolidate", "export"}},
		flags.Task{Title: "Others:"},
	)
	flags.CheckArguments(root)
	connect.InstallCompletion(root)
	return root
}

// displayName returns the user's name for the program if it differs: as a kubectl plugin.
func displayName(file string) string {
	if strings.TrimSuffix(filepath.Base(file), ".exe") == "kubectl-ordapply" {
		return "kubectl ordapply"
	}
	return ""
}

// columns returns the width of the terminal to which help is printed; 0 when it
// is none.
func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// start begins a command: its time limit, the values of its flags, and its log.
func start(cmd *cobra.Command, c *console.Console) error {
	c.Command = cmd.CommandPath()
	ctx, known := cmd.Context(), flags.TimeLimit(cmd)
	cmd.SetContext(c.Limit(ctx, known))
	if err := flags.ApplyDefaults(cmd, c); err != nil {
		return err
	}
	if limit := flags.TimeLimit(cmd); limit != known { // --timeout is in the config file
		cmd.SetContext(c.Limit(ctx, limit))
	}
	log, err := console.NewLog(console.Verbosity(cmd.Flags()), c.Err)
	c.Log = log
	cmd.SetContext(log.Retries(cmd.Context()))
	return err
}

// execute runs a command. The error is the command's, joined with a write error of its
// output; it is not printed yet.
func execute(ctx context.Context, c *console.Console, args []string) (*cobra.Command, error) {
	out := files.NewChecked(c.Out)
	c.Out = out
	root := newRoot(c)
	if input.IsPiped(c.In) {
		if implied := flags.ImpliedApply(root, args); implied != nil {
			args = implied
		}
	}
	root.SetArgs(args)
	root.SetIn(c.In)
	root.SetOut(out)
	root.SetErr(c.Err)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd, err := root.ExecuteContextC(ctx)
	c.ReportSlow(nil)
	return cmd, orLost(report.InvalidRun(cmd, c, args, report.WithInterrupt(cmd.Context(), err)), out.FirstErr())
}

// orLost joins the error of a command with a write error of its output. A diff that could
// not be printed fails.
func orLost(err, lost error) error {
	switch {
	case lost == nil || errors.Is(err, lost):
		return err
	case errors.Is(err, plan.ErrDifferent):
		return lost
	}
	return errors.Join(err, lost)
}
