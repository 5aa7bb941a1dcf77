package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/terminal"
)

// planFlags are those of the plan verb.
type planFlags struct {
	previewFlags
	dryRun string
	output string
	out    string
}

func newPlan() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what apply would do: the waves, what would change in each, and why it is there",
		Long: `plan asks the cluster what applying the manifests would change, by dry runs, and
writes nothing. Values of Secrets are masked. With --dry-run=client it needs no
cluster, and shows the waves alone.`,
		Example: `  kustomize build . | ordapply plan
  ordapply plan -f app.yaml --order order.yaml -o json
  helm template shop ./shop | ordapply plan --chart ./shop --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.dryRun, "dry-run", "server", `"server": ask the cluster what would change; "client": plan without a cluster`)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", `"text", or "json": one document`)
	cmd.Flags().StringVar(&f.out, "out", "", "file to keep the plan in, for ordapply apply --plan FILE")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command) error {
	if err := oneOf("output", f.output, "text", "json"); err != nil {
		return err
	}
	switch f.dryRun {
	case "client":
		if f.out != "" {
			return usagef("--out keeps what the cluster said: leave out --dry-run=client")
		}
		return f.runOffline(cmd)
	case "server", "none": // none is apply's default, which a config file may hold
	default:
		return usagef("--dry-run=%s: write server or client", f.dryRun)
	}
	p, err := f.preview(cmd)
	if err != nil {
		return err
	}
	if f.output == "json" {
		err = p.writeJSON(cmd.OutOrStdout())
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "planning for %s%s; nothing is written\n", p.target.server, p.target.of())
		err = printEscaped(cmd.OutOrStdout(), p.writeText)
	}
	p.warn(cmd.ErrOrStderr())
	if err = errors.Join(err, p.preview.Err()); err != nil || f.out == "" {
		return err
	}
	return p.save(cmd.Context(), f.out, plannedFlags(cmd))
}

// runOffline plans without a cluster.
func (f *planFlags) runOffline(cmd *cobra.Command) error {
	in := offline{inputFlags: f.inputFlags, planningFlags: f.planningFlags, namespace: "default"}
	if *f.cluster.Namespace != "" {
		in.namespace = *f.cluster.Namespace
	}
	plan, err := in.plan(cmd)
	if err != nil {
		return err
	}
	if !f.ordering {
		plan = plan.Unordered()
	}
	if f.prune {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: what --prune would delete is known only from the cluster, and --dry-run=client asks none: leave that out to see it")
	}
	if f.output == "json" {
		return plan.WriteJSON(cmd.OutOrStdout())
	}
	return printEscaped(cmd.OutOrStdout(), plan.WriteText)
}

// printEscaped prints text for a terminal: names and reasons come from the
// manifests.
func printEscaped(out io.Writer, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	var safe bytes.Buffer
	for line := range bytes.Lines(text.Bytes()) {
		safe.WriteString(terminal.Plain(string(bytes.TrimSuffix(line, []byte("\n")))))
		safe.WriteByte('\n')
	}
	_, err := out.Write(safe.Bytes())
	return err
}
