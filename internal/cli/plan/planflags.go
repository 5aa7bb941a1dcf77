package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
)

// A plan file stores the flags that determine the plan, so that apply needs
// only the file. It never stores, and apply never reads from it, flags that
// select a cluster, contain credentials or let a program run, because the
// author of a plan may not have the permissions of apply.

// StoredFlags returns the flags of plan that a plan file stores.
func StoredFlags() []string {
	return []string{
		"filename", "recursive", "selector", "order", "require-order", "namespace", // select the manifests
		"frame", "hooks", "prerequisites", "prerequisite-kinds", "chart", "ordering", // determine their order
		"applyset", "adopt", "take-over", "prune", "prune-namespaces", "create-namespace", // belong to apply sets
		"field-manager", "force-conflicts", "server-side", // control the apply
	}
}

// previewFlagSet returns the flags of a preview with their defaults.
func previewFlagSet() *pflag.FlagSet {
	var cmd cobra.Command
	new(previewFlags).register(&cmd)
	return cmd.Flags()
}

// buildFlags returns the flags that start a build or let it run programs. A
// plan file stores them only for messages.
func buildFlags() []string { return []string{"kustomize", "enable-alpha-plugins", "enable-exec"} }

// locationFlags returns the stored flags that locate the manifests. apply may be
// given other values, since the manifests are compared.
func locationFlags() []string { return []string{"filename", "recursive", "namespace"} }

// plannedFlags returns the given flags that a plan file stores, and how the
// manifests were built.
func plannedFlags(cmd *cobra.Command) (map[string][]string, *planBuild) {
	given := map[string][]string{}
	for _, name := range StoredFlags() {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			given[name] = flagValues(flag)
		}
	}
	for i, file := range given["filename"] {
		given["filename"][i] = input.RedactedURL(file)
	}
	folder := cmd.Flags().Lookup("kustomize")
	if !folder.Changed {
		return given, nil
	}
	build := &planBuild{Kustomize: input.RedactedURL(folder.Value.String())}
	for _, name := range buildFlags()[1:] {
		if flag := cmd.Flags().Lookup(name); flag.Value.String() == "true" {
			build.Allowed = append(build.Allowed, name)
		}
	}
	return given, build
}

func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return slices.Clone(list.GetSlice())
	}
	return []string{flag.Value.String()}
}

// checkPlannedFlags returns an error for flags that a plan file cannot set.
func checkPlannedFlags(flags map[string][]string) error {
	known := previewFlagSet()
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(StoredFlags(), name) {
			return fmt.Errorf("it sets --%s, which a plan file cannot set", name)
		}
		flag := known.Lookup(name)
		if _, list := flag.Value.(pflag.SliceValue); !list && len(flags[name]) != 1 {
			return fmt.Errorf("it has %d values for --%s, which takes one", len(flags[name]), name)
		}
		if err := setFlag(flag, flags[name]); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// RestoreFlags sets apply's flags to the stored values. Flags that locate the
// manifests may differ, since the manifests are compared; other flags that
// differ from the plan are errors.
func (file *File) RestoreFlags(cmd *cobra.Command) error {
	if err := file.needsBuild(cmd); err != nil {
		return err
	}
	planned := previewFlagSet()
	for _, name := range StoredFlags() {
		flag := cmd.Flags().Lookup(name)
		was, recorded := file.Flags[name]
		switch {
		case !flag.Changed && recorded && name == "filename":
			if err := file.restoreFiles(cmd, flag, was); err != nil {
				return err
			}
		case !flag.Changed && recorded:
			if err := setFlag(flag, was); err != nil {
				return usage.Errorf("--%s: %w", name, err)
			}
		case !recorded:
			was = flagValues(planned.Lookup(name))
		}
		if flag.Changed && !slices.Contains(locationFlags(), name) && !slices.Equal(flagValues(flag), was) {
			return usage.Errorf("--%s is %q, and the plan was made with %q: leave it out, or plan again", name, flagValues(flag), was)
		}
	}
	return nil
}

// restoreFiles sets the -f arguments from the file, unless -k is given. It refuses URLs: the
// author of the file would choose a server that apply connects to.
func (file *File) restoreFiles(cmd *cobra.Command, flag *pflag.Flag, was []string) error {
	if cmd.Flags().Lookup("kustomize").Changed {
		return nil
	}
	if i := slices.IndexFunc(was, input.IsURL); i >= 0 {
		return usage.Errorf("the plan was made from %s, and a plan file cannot make apply fetch a URL: name all sources again with -f", was[i])
	}
	return setFlag(flag, was)
}

// needsBuild returns an error if flags are missing that a plan file cannot set: flags that
// start a build or let it run programs.
func (file *File) needsBuild(cmd *cobra.Command) error {
	flags := cmd.Flags()
	switch {
	case file.Build == nil || flags.Lookup("filename").Changed:
		return nil
	case !flags.Lookup("kustomize").Changed:
		return usage.Errorf("the plan was made from the kustomization %s, and a plan file cannot start a build: name it with -k, or its output with -f (- for standard input)", file.Build.Kustomize)
	}
	for _, name := range buildFlags()[1:] {
		if slices.Contains(file.Build.Allowed, name) && !flags.Lookup(name).Changed {
			return usage.Errorf("the plan was made with --%s, and a plan file cannot enable that: set it here as well", name)
		}
	}
	return nil
}

func setFlag(flag *pflag.Flag, values []string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		flag.Changed = true
		return list.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("it takes one value, not %d", len(values))
	}
	flag.Changed = true
	return flag.Value.Set(values[0])
}
