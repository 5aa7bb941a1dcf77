// Package plan shows the changes of an apply, as a plan or as a diff, and stores the plan
// in a file that apply takes instead of flags:
//
//	ordapply plan -f app.yaml --out app.plan
//	ordapply apply --plan app.plan
//	ordapply diff -f app.yaml
package plan

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/ordering"
)

// planFlags are the flags of plan.
type planFlags struct {
	previewFlags
	dryRun string
	output string
	size   int // of a comment
	out    string
}

// NewPlan returns the command plan.
func NewPlan() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what apply would do: the waves, the changes in each, and the reasons",
		Long: `plan shows what applying the manifests would change, by dry runs on the API server,
and writes nothing. Values of Secrets are masked. With --dry-run=client it needs
no cluster, and shows only the waves.`,
		Example: `  kustomize build . | ordapply plan
  ordapply plan -f app.yaml --order order.yaml -o json
  helm template shop ./shop | ordapply plan --chart ./shop --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.dryRun, "dry-run", "server", `"server": ask the cluster what would change; "client": plan without a cluster`)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", `"text"; "json": one document; or "markdown": a comment for a pull request`)
	cmd.Flags().IntVar(&f.size, "comment-size", commentSize, "-o markdown: bytes that the comment has at most; GitHub takes 65,536 characters")
	cmd.Flags().StringVar(&f.out, "out", "", "file to write the plan to, for ordapply apply --plan FILE")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command) error {
	if err := usage.OneOf("output", f.output, "text", "json", "markdown"); err != nil {
		return err
	}
	if f.size < MinCommentSize {
		return usage.Errorf("--comment-size=%d: write at least %d", f.size, MinCommentSize)
	}
	switch f.dryRun {
	case "client":
		if f.out != "" {
			return usage.Errorf("--out stores a plan made with the cluster: leave out --dry-run=client")
		}
		return f.runOffline(cmd)
	case "server", "none": // "none" is the default of apply and may be in a config file
	default:
		return usage.Errorf("--dry-run=%s: write server or client", f.dryRun)
	}
	if f.out != "" {
		if err := files.CheckWritable(f.out); err != nil {
			return usage.Errorf("--out=%s: %w", f.out, err)
		}
	}
	p, err := f.preview(cmd)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		err = p.writeJSON(cmd.OutOrStdout())
	case "markdown":
		err = p.writeMarkdown(cmd.OutOrStdout(), f.size)
	default:
		plain.Fprintf(cmd.ErrOrStderr(), "planning for %s; nothing is written\n", p.target)
		err = p.writeText(toTerminal(cmd))
	}
	p.warn(cmd.ErrOrStderr())
	if err = errors.Join(err, p.preview.Err()); err != nil || f.out == "" {
		return err
	}
	flags, build := plannedFlags(cmd)
	return p.save(cmd.Context(), f.out, flags, build)
}

// runOffline plans without a cluster.
func (f *planFlags) runOffline(cmd *cobra.Command) error {
	in := input.Offline{StreamFlags: f.StreamFlags, PlanFlags: f.PlanFlags, Namespace: "default"}
	if *f.cluster.Namespace != "" {
		in.Namespace = *f.cluster.Namespace
	}
	plan, err := in.Plan(cmd)
	if err != nil {
		return err
	}
	if f.Prune {
		plain.Fprintln(cmd.ErrOrStderr(), "note: only the cluster knows what --prune would delete: leave out --dry-run=client to see it")
	}
	return errors.Join(f.writeOffline(cmd, plan), plan.Err())
}

// writeOffline prints a plan that was made without a cluster.
func (f *planFlags) writeOffline(cmd *cobra.Command, plan *ordering.Plan) error {
	switch f.output {
	case "json":
		return drawing.PlanJSON(cmd.OutOrStdout(), plan)
	case "markdown":
		return markdownWaves(cmd.OutOrStdout(), plan, f.size)
	}
	return plan.WriteText(toTerminal(cmd))
}
