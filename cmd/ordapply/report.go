package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/html"
)

func newReport(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "report [FILE]",
		Short: "Write an HTML page about a run from its events, without a cluster",
		Long: `report reads the events that apply, delete or rollback print with -o json, from
a file or from standard input, and prints one HTML page: when each resource was
applied and ready, the chain of resources that the run waited for longest, and
what failed. The page needs no network.`,
		Example: `  ordapply apply -f app.yaml -o json > run.jsonl
  ordapply report run.jsonl > run.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "-"
			if len(args) > 0 {
				name = args[0]
			}
			run, err := readEvents(cmd.Context(), c.In, name)
			if err != nil {
				return err
			}
			return plain.WriteLines(c.Out, func(w io.Writer) error { return html.Write(w, run) })
		},
	}
}

// readEvents reads the events of a run from a file; - is standard input.
func readEvents(ctx context.Context, stdin io.Reader, name string) (*html.Run, error) {
	return abortable.Run(ctx, "reading "+name, func(context.Context) (run *html.Run, err error) {
		read := func(name string, text io.Reader) error {
			if run, err = html.Read(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
		if name == "-" {
			err = read("standard input", stdin)
		} else {
			err = abortable.VisitFile(name, read)
		}
		return run, err
	})
}
