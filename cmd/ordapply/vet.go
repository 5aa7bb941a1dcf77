package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

func newVet() *cobra.Command {
	var in offline
	var strict bool
	cmd := &cobra.Command{
		Use:   "vet -f FILE",
		Short: "Look for all that is wrong or doubtful with a stream and its order, without a cluster",
		Long: `vet reports everything at once: selectors that can never win, declarations that
name nothing, cycles, resources placed after what needs them, names that are
misspelt; and, as remarks, references to what the stream does not hold, inferred
edges that had to be dropped, and layers that could be one. It exits with 1 when
there is a problem; with --strict, a remark is enough.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stream, _, options, err := in.load(cmd)
			if err != nil {
				return err
			}
			options.Elsewhere = stream.Elsewhere
			return report(cmd, ordering.Vet(stream.Resources, options), strict)
		},
	}
	in.register(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "let remarks fail too")
	return cmd
}

func report(cmd *cobra.Command, found []ordering.Finding, strict bool) error {
	problems := 0
	for _, f := range found {
		word := "remark"
		if f.Problem {
			word = "problem"
			problems++
		}
		plain.Message(cmd.OutOrStdout(), word+": ", f.Text)
	}
	switch {
	case problems > 0:
		return fmt.Errorf("%d of %d findings are problems", problems, len(found))
	case strict && len(found) > 0:
		return errors.New("remarks are enough to fail with --strict")
	}
	return nil
}
