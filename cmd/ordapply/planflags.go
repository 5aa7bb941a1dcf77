package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A plan file remembers the flags that say what the plan is of, so that apply needs
// no more than the file. It never remembers, and apply never takes from it, what
// leads to a cluster, what credentials are, and what lets a program run: who writes
// a plan may not be allowed what apply may do.

// recalledFlags are the flags of plan that a plan file keeps.
func recalledFlags() []string {
	return []string{
		"filename", "recursive", "selector", "order", "require-order", "namespace", // the manifests
		"frame", "hooks", "prerequisites", "prerequisite-kinds", "chart", "ordering", // their order
		"applyset", "adopt", "take-over", "prune", "prune-namespaces", // their set
		"field-manager", "force-conflicts", "server-side", // how they are applied
	}
}

// buildFlags are those that start a build, or let it run programs. A plan file
// names them for messages.
func buildFlags() []string { return []string{"kustomize", "enable-alpha-plugins", "enable-exec"} }

// waysFlags are recalled flags that lead to the manifests. apply may be given
// others: what they lead to is compared.
func waysFlags() []string { return []string{"filename", "recursive", "namespace"} }

// plannedFlags are the flags that were given and that a plan file keeps, and how the
// manifests were built.
func plannedFlags(cmd *cobra.Command) (map[string][]string, *planBuild) {
	given := map[string][]string{}
	for _, name := range recalledFlags() {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			given[name] = flagValues(flag)
		}
	}
	for i, file := range given["filename"] {
		given["filename"][i] = keptURL(file)
	}
	folder := cmd.Flags().Lookup("kustomize")
	if !folder.Changed {
		return given, nil
	}
	build := &planBuild{Kustomize: keptURL(folder.Value.String())}
	for _, name := range buildFlags()[1:] {
		if flag := cmd.Flags().Lookup(name); flag.Value.String() == "true" {
			build.Allowed = append(build.Allowed, name)
		}
	}
	return given, build
}

// unkept stands in a URL for what is not kept of it.
const unkept = "xxxxx"

// keptURL is a URL without what may be a credential: who logs in, with which
// password, and all that stands behind the question mark. Other texts stay.
func keptURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	address, err := url.Parse(text)
	if err != nil { // it leads nowhere
		return scheme + "://" + unkept
	}
	if address.User == nil && address.RawQuery == "" && address.Fragment == "" && !strings.Contains(rest, "@") {
		return text
	}
	if address.User != nil {
		address.User = url.User(unkept)
	}
	if address.RawQuery != "" {
		address.RawQuery = unkept
	}
	address.Fragment = ""
	return address.String()
}

// isKept reports whether a -f argument leads where it led when the plan was made.
func isKept(file string) bool {
	return !strings.Contains(file, "://") || !strings.Contains(file, unkept)
}

func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return slices.Clone(list.GetSlice())
	}
	return []string{flag.Value.String()}
}

// checkPlannedFlags refuses flags that plan does not keep.
func checkPlannedFlags(flags map[string][]string) error {
	known := newPlan().Flags()
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(recalledFlags(), name) {
			return fmt.Errorf("it sets --%s, which a plan cannot", name)
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

// recall gives apply's flags the values that the plan was made with. Manifests may
// be reached by other ways, since they are compared; a flag that would do something
// else than was planned is refused.
func (file *planFile) recall(cmd *cobra.Command) error {
	if err := file.needsBuild(cmd); err != nil {
		return err
	}
	planned := newPlan().Flags()
	for _, name := range recalledFlags() {
		flag := cmd.Flags().Lookup(name)
		was, recorded := file.Flags[name]
		switch {
		case !flag.Changed && recorded && name == "filename":
			if err := file.recallFiles(cmd, flag, was); err != nil {
				return err
			}
		case !flag.Changed && recorded:
			if err := setFlag(flag, was); err != nil {
				return usagef("--%s: %w", name, err)
			}
		case !recorded:
			was = flagValues(planned.Lookup(name))
		}
		if flag.Changed && !slices.Contains(waysFlags(), name) && !slices.Equal(flagValues(flag), was) {
			return usagef("--%s is %q, and the plan was made with %q: leave it out, or plan again", name, flagValues(flag), was)
		}
	}
	return nil
}

// recallFiles takes the -f arguments from the file, unless the manifests come by
// another way.
func (file *planFile) recallFiles(cmd *cobra.Command, flag *pflag.Flag, was []string) error {
	if cmd.Flags().Lookup("kustomize").Changed {
		return nil
	}
	for _, name := range was {
		if !isKept(name) {
			return usagef("the plan was made from %s, and what may be a credential in it is not kept: name it again with -f", name)
		}
	}
	return setFlag(flag, was)
}

// needsBuild says which flags must be given, because a plan file cannot start a
// build, nor let it run programs.
func (file *planFile) needsBuild(cmd *cobra.Command) error {
	flags := cmd.Flags()
	switch {
	case file.Build == nil || flags.Lookup("filename").Changed:
		return nil
	case !flags.Lookup("kustomize").Changed:
		return usagef("the plan was made from the kustomization %s, and a plan file cannot start a build: name it with -k, or what it builds with -f (- for standard input)", file.Build.Kustomize)
	}
	for _, name := range buildFlags()[1:] {
		if slices.Contains(file.Build.Allowed, name) && !flags.Lookup(name).Changed {
			return usagef("the plan was made with --%s, and a plan file cannot allow that: give it here, too", name)
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
		return fmt.Errorf("it takes one value, and not %d", len(values))
	}
	flag.Changed = true
	return flag.Value.Set(values[0])
}
