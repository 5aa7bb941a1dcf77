package main

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/terminal"
)

func newPlan() *cobra.Command {
	var in offline
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show the waves and why each resource is in its wave, without a cluster",
		Example: `  kustomize build . | ordapply plan
  ordapply plan -f app.yaml --order order.yaml
  helm template shop ./shop | ordapply plan --chart ./shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := in.plan(cmd)
			if err != nil {
				return err
			}
			return printEscaped(cmd.OutOrStdout(), plan.WriteText)
		},
	}
	in.register(cmd)
	cmd.Flags().String("dry-run", "client", "for those who are used to it: a plan is always made without a cluster")
	return cmd
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
