package flags

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ImpliedApply returns the command line of apply that a line of flags alone means where manifests
// are piped in; nil if the line has a command, or needs one: flags that name other manifests than
// standard input, --help and --version.
func ImpliedApply(root *cobra.Command, args []string) []string {
	apply, _, err := root.Find([]string{"apply"})
	if err != nil {
		return nil
	}
	apply.InheritedFlags() // adds them to Flags
	implied := []string{"apply", "-f", "-"}
	err = apply.Flags().ParseAll(args, func(flag *pflag.Flag, value string) error {
		switch {
		case flag.Name == "filename" && value == "-":
			implied = []string{"apply"}
		case slices.Contains([]string{"filename", "kustomize", "plan"}, flag.Name):
			return pflag.ErrHelp
		}
		return nil
	})
	var unknown *pflag.NotExistError
	isVersion := errors.As(err, &unknown) && unknown.GetSpecifiedName() == "version"
	if apply.Flags().NArg() > 0 || isVersion || errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	return append(implied, args...)
}
