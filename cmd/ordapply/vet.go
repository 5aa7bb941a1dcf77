package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/plain"
)

func newVet(c *console.Console) *cobra.Command {
	var in input.Offline
	var strict bool
	cmd := &cobra.Command{
		Use:   "vet -f FILE",
		Short: "Check a stream and its order for mistakes, without a cluster",
		Long: `vet reports everything at once: selectors that can never win, declarations that
refer to nothing, cycles, resources placed after their dependents, misspelled
names, ordapply.dev/ annotations that are unknown or have an invalid value; and,
as remarks, references to resources outside the stream, inferred edges that had
to be dropped, selectors that match nothing, workloads that go last because no
selector matches them, and layers that could be merged. It exits with 1 if there
is a problem; with --strict, also if there is a remark.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := in.Vet(cmd.Context(), c)
			if err != nil {
				return err
			}
			return printFindings(c.Out, found, strict)
		},
	}
	in.Register(cmd.Flags())
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on remarks too")
	return cmd
}

func printFindings(out io.Writer, found []lint.Finding, strict bool) error {
	problems := 0
	for _, f := range found {
		word := "remark"
		if f.Problem {
			word = "problem"
			problems++
		}
		plain.Message(out, word+": ", f.Text)
	}
	switch {
	case problems > 0:
		return fmt.Errorf("%d of %d findings are problems", problems, len(found))
	case strict && len(found) > 0:
		return errors.New("there are remarks, and --strict fails on them")
	}
	return nil
}
