package flags

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/usage"
)

// commandLine returns the flags that were set on the command line. It must be
// called before the environment and the config file are read.
func commandLine(cmd *cobra.Command) []string {
	var given []string
	cmd.Flags().Visit(func(flag *pflag.Flag) { given = append(given, flag.Name) })
	return given
}

// contradictions returns errors for command-line flags that have no effect
// without another flag, and for flags that exclude each other. The environment
// and the config file are shared by many runs, so their values may have no
// effect.
func contradictions(cmd *cobra.Command, given []string) []error {
	value := func(name string) string {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			return flag.Value.String()
		}
		return ""
	}
	var errs []error
	if cmd.Flags().Lookup("applyset") != nil && value("applyset") == "" && value("plan") == "" {
		for _, name := range []string{"adopt", "lock-timeout", "history-limit", "message"} {
			if slices.Contains(given, name) {
				errs = append(errs, usage.Errorf("--%s requires an apply set: name it with --applyset", name))
			}
		}
	}
	if slices.Contains(given, "enable-exec") && value("kustomize") == "" {
		errs = append(errs, usage.Errorf("--enable-exec requires a kustomization: name it with -k"))
	}
	if slices.Contains(given, "fleet-kubeconfigs") && value("fleet") == "" {
		errs = append(errs, usage.Errorf("--fleet-kubeconfigs requires a Fleet: name its file with --fleet"))
	}
	if value("ordering") == "false" && value("require-order") == "true" {
		errs = append(errs, usage.Errorf("--require-order refuses a stream without an order, and --ordering=false applies it unordered: leave one of them out"))
	}
	return errs
}
