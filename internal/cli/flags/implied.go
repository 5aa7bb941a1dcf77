package flags

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ImpliesApply reports whether a command line is only flags of apply, so that the command
// may be left out where manifests are piped in. Flags that name other manifests need the
// command, and so do --help and --version.
func ImpliesApply(root *cobra.Command, args []string) bool {
	apply, _, err := root.Find([]string{"apply"})
	if err != nil {
		return false
	}
	apply.InheritedFlags() // adds them to Flags
	err = apply.Flags().ParseAll(args, func(flag *pflag.Flag, _ string) error {
		if slices.Contains([]string{"filename", "kustomize", "plan"}, flag.Name) {
			return pflag.ErrHelp
		}
		return nil
	})
	var unknown *pflag.NotExistError
	isVersion := errors.As(err, &unknown) && unknown.GetSpecifiedName() == "version"
	return apply.Flags().NArg() == 0 && !isVersion && !errors.Is(err, pflag.ErrHelp)
}
