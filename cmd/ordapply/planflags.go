package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// A plan file remembers the flags that the plan was made with, so that apply
// needs no more than the file.

// plannedFlags are the flags that were given, but for those that say nothing of
// what is applied, and credentials.
func plannedFlags(cmd *cobra.Command) map[string][]string {
	given := map[string][]string{}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"out", "output", "dry-run", "config", "token"}, flag.Name) {
			given[flag.Name] = flagValues(flag)
		}
	})
	return given
}

func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// recall gives apply's flags the values that the plan was made with. Manifests
// and clusters may be reached by other ways, since they are compared; a flag that
// would do something else than was planned is refused.
func (file *planFile) recall(cmd *cobra.Command) error {
	ways := waysFlags()
	var err error
	newPlan().Flags().VisitAll(func(planned *pflag.Flag) {
		flag := cmd.Flags().Lookup(planned.Name)
		if flag == nil || err != nil || slices.Contains([]string{"output", "dry-run", "config", "help"}, flag.Name) {
			return
		}
		was, recorded := file.Flags[flag.Name]
		if !recorded {
			was = flagValues(planned)
		}
		switch {
		case !flag.Changed && recorded:
			err = setFlag(flag, was)
		case flag.Changed && !ways[flag.Name] && !slices.Equal(flagValues(flag), was):
			err = usagef("--%s is %q, and the plan was made with %q: leave it out, or plan again", flag.Name, flagValues(flag), was)
		}
	})
	return err
}

// waysFlags lead to the manifests and to the cluster.
func waysFlags() map[string]bool {
	ways := map[string]bool{"filename": true, "recursive": true, "kustomize": true}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) { ways[flag.Name] = true })
	return ways
}

func setFlag(flag *pflag.Flag, values []string) error {
	flag.Changed = true
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	return flag.Value.Set(values[0])
}
