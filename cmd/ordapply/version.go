package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/usage"
)

// programVersion is the version of the program.
type programVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.OneOf("output", output, "text", "json"); err != nil {
				return err
			}
			v := ownVersion()
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := plain.Fprintln(cmd.OutOrStdout(), "ordapply", v.Version)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// ownVersion reads the build information.
func ownVersion() programVersion {
	v := programVersion{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			v.Commit = setting.Value
		}
	}
	return v
}
