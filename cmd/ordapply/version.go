package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/version"
)

func newVersion(c *console.Console) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.OneOf("output", output, "text", "json"); err != nil {
				return err
			}
			own := version.Own("ordapply")
			if output == "json" {
				return own.JSON(c.Out)
			}
			_, err := plain.Fprintln(c.Out, own)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}
