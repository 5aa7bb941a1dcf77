package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func kubeconfigCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "kubeconfig --dir DIR",
		Short: "Print the path of the cluster's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openFolder(dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), c.kubeconfig())
			return err
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

func kubectlCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "kubectl --dir DIR -- ARGUMENT...",
		Short: "Run the bundled kubectl against this cluster",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := openFolder(dir)
			if err != nil {
				return err
			}
			binary := filepath.Join(c.Bin, "kubectl")
			for name, value := range map[string]string{
				"KUBECONFIG":   c.kubeconfig(),
				"KUBECACHEDIR": c.path("home", "kubectl-cache"), // else outside the cluster's folder
			} {
				if err := os.Setenv(name, value); err != nil {
					return err
				}
			}
			return fmt.Errorf("exec %s: %w", binary, syscall.Exec(binary, append([]string{"kubectl"}, args...), os.Environ()))
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}
