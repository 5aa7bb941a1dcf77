package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/operation"
	"github.com/ordapply/ordapply/operation/option"
)

// locationFlags locate the manifests. apply may be given other values than the plan, since the
// manifests are compared.
func locationFlags() []string { return []string{"filename", "recursive", "namespace"} }

// unplanned are the flags of a preview that a plan file never sets: they start a build or let
// it run programs, or have no effect.
func unplanned() []string {
	return []string{"kustomize", "enable-alpha-plugins", "enable-exec", "server-side"}
}

// restorePlan reads a plan file, "" for none, and fills the options that the flags of apply
// leave open. Flags that differ from the plan are errors, except for the location of the
// manifests.
func restorePlan(cmd *cobra.Command, op *operation.Apply, name string) error {
	if name == "" {
		return nil
	}
	file, err := operation.ReadPlanFile(cmd.Context(), name)
	if err != nil {
		return err
	}
	if err := checkBuild(cmd.Flags(), file); err != nil {
		return err
	}
	op.Plan = file
	return fill(cmd.Flags(), file)
}

// fill sets the flags that are not given to the options of a plan file.
func fill(flags *pflag.FlagSet, file *operation.PlanFile) error {
	planned := file.Operation
	was := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	registerPreview(was, &planned)
	cluster := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	planned.Cluster.AddFlags(cluster)
	*planned.Cluster.Namespace = file.Namespace
	var err error
	was.VisitAll(func(planned *pflag.Flag) {
		name := planned.Name
		flag := flags.Lookup(name)
		switch {
		case err != nil || slices.Contains(unplanned(), name) || name != "namespace" && cluster.Lookup(name) != nil:
		case flag.Changed && !slices.Contains(locationFlags(), name) && !slices.Equal(flagValues(flag), flagValues(planned)):
			err = usage.Errorf("--%s is %q, and the plan was made with %q: leave it out, or plan again", name, flagValues(flag), flagValues(planned))
		case flag.Changed:
		case isSwitch(flag):
			*flag.Value.(*option.Switch) = *planned.Value.(*option.Switch)
		case slices.Equal(flagValues(flag), flagValues(planned)):
		case name == "filename":
			err = fillFiles(flags, flagValues(planned))
		default:
			err = setFlag(flag, flagValues(planned))
		}
	})
	return err
}

// fillFiles sets -f, unless -k is given. It refuses URLs: the author of the file would choose a
// server that apply connects to.
func fillFiles(flags *pflag.FlagSet, files []string) error {
	if flags.Lookup("kustomize").Changed {
		return nil
	}
	if i := slices.IndexFunc(files, input.IsURL); i >= 0 {
		return usage.Errorf("the plan was made from %s, and a plan file cannot make apply fetch a URL: name all sources again with -f", files[i])
	}
	return setFlag(flags.Lookup("filename"), files)
}

// checkBuild returns an error if flags are missing that a plan file cannot set: flags that
// start a build or let it run programs.
func checkBuild(flags *pflag.FlagSet, file *operation.PlanFile) error {
	kustomization, allowed := file.Source()
	switch {
	case kustomization == "" || flags.Lookup("filename").Changed:
		return nil
	case !flags.Lookup("kustomize").Changed:
		return usage.Errorf("the plan was made from the kustomization %s, and a plan file cannot start a build: name it with -k, or its output with -f (- for standard input)", kustomization)
	}
	for _, name := range allowed {
		if flag := flags.Lookup(name); flag == nil || !flag.Changed {
			return usage.Errorf("the plan was made with --%s, and a plan file cannot enable that: set it here as well", name)
		}
	}
	return nil
}

func isSwitch(flag *pflag.Flag) bool {
	_, is := flag.Value.(*option.Switch)
	return is
}

func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return slices.Clone(list.GetSlice())
	}
	return []string{flag.Value.String()}
}

func setFlag(flag *pflag.Flag, values []string) error {
	flag.Changed = true
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	return flag.Value.Set(values[0])
}
