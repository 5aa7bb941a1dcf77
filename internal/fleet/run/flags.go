package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/nearest"
)

// fleetFlags select the clusters of a command.
type fleetFlags struct {
	file        string
	kubeconfigs bool // use the file's kubeconfigs
	contexts    []string
	program     Program
}

// clusters returns the fleet. The error joins everything that is wrong with the flags, the
// file and the contexts that it names.
func (f *fleetFlags) clusters(cmd *cobra.Command) (*fleet.Fleet, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	clusters, err := f.read(cmd.Context())
	if err != nil {
		return nil, err
	}
	return clusters, errors.Join(checkGates(cmd, clusters), checkFiles(cmd, clusters), f.checkContexts(cmd, clusters))
}

func (f *fleetFlags) read(ctx context.Context) (*fleet.Fleet, error) {
	if f.file == "" {
		clusters, err := fleet.OfContexts(f.contexts)
		if err != nil {
			err = usage.Wrap(err)
		}
		return clusters, err
	}
	text, err := abortable.ReadFile(ctx, f.file, "--fleet")
	if err != nil {
		return nil, fmt.Errorf("read the fleet: %w", err)
	}
	return fleet.Parse(f.file, text)
}

// checkEmpty rejects a flag with an empty value, as of an unset variable of a shell, which
// would otherwise mean the current context.
func checkEmpty(cmd *cobra.Command) error {
	for _, name := range []string{"fleet", "contexts"} {
		if flags.IsOnCommandLine(cmd.Flags().Lookup(name)) {
			return usage.Errorf("--%s is empty: name clusters, or leave it out for the cluster of the current context", name)
		}
	}
	return nil
}

// check rejects flags that do not go together with a fleet.
func (f *fleetFlags) check(cmd *cobra.Command) error {
	if f.file == "-" {
		return usage.Errorf("--fleet -: standard input is for the manifests: name a file")
	}
	if f.file != "" && len(f.contexts) > 0 {
		return usage.Errorf("--fleet and --contexts both name clusters: leave one of them out")
	}
	of := "--fleet"
	if f.file == "" {
		of = "--contexts"
	}
	var errs []error
	for _, no := range []struct{ flag, why string }{
		{"context", "select clusters"}, {"cluster", "select clusters"}, {"server", "select clusters"},
	} {
		if flag := cmd.Flags().Lookup(no.flag); flag != nil && flag.Value.String() != "" {
			errs = append(errs, usage.Errorf("--%s and %s both %s: leave one of them out", no.flag, of, no.why))
		}
	}
	for _, name := range []string{"plan", "out"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Value.String() != "" {
			errs = append(errs, usage.Errorf("--%s: a plan file is about one cluster: leave out %s", name, of))
		}
	}
	output := cmd.Flags().Lookup("output").Value.String()
	if cmd.Name() == "apply" { // its runs print JSON, whatever the command prints
		errs = append(errs, usage.OneOf("output", output, "text", "name", "json"))
	}
	if output == "name" {
		errs = append(errs, usage.Errorf("-o name prints names without their cluster: with %s write -o text or -o json", of))
	}
	return errors.Join(errs...)
}

// checkGates rejects a gate that could not be observed.
func checkGates(cmd *cobra.Command, f *fleet.Fleet) error {
	if cmd.Name() != "apply" {
		return nil
	}
	set, wait := cmd.Flags().Lookup("applyset").Value.String(), cmd.Flags().Lookup("wait").Value.String()
	var errs []error
	for i, cohort := range f.Cohorts {
		switch {
		case cohort.Gate == 0:
		case set == "":
			errs = append(errs, usage.Errorf("cohorts[%d].gate: whether the clusters of %s stay ready is read from the members of an apply set: name one with --applyset, or leave out the gate", i, cohort.Name))
		case wait == "false":
			errs = append(errs, usage.Errorf("cohorts[%d].gate: the clusters of %s must be ready before they can stay ready: leave out --wait=false, or the gate", i, cohort.Name))
		}
	}
	return errors.Join(errs...)
}

// checkKubeconfig rejects a kubeconfig that the file names, without the flag, and one that
// starts a program, always: a Fleet may come from a pull request, and the program would have
// the credentials of this process in reach.
func (f *fleetFlags) checkKubeconfig(ctx context.Context, c fleet.Cluster) error {
	if c.Kubeconfig == "" {
		return nil
	}
	if !f.kubeconfigs {
		return fmt.Errorf("%s.kubeconfig: %s is not used, because a kubeconfig chooses servers and starts programs: add the context %s to the kubeconfig of the command, or use the kubeconfigs of the Fleet with --fleet-kubeconfigs", c.Field, c.Kubeconfig, c.Context)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &c.Kubeconfig
	login, err := connect.ProgramOf(ctx, flags)
	if err != nil {
		return fmt.Errorf("%s: cluster %s: read the kubeconfig: %w", c.Field, c.Name, err)
	}
	if login != nil {
		return fmt.Errorf("%s.kubeconfig: user %s of %s logs in with a program (%s), and no kubeconfig of a Fleet may start one: add the context %s to the kubeconfig of the command", c.Field, login.User, c.Kubeconfig, login.Field, c.Context)
	}
	return nil
}

// checkContexts requires every context of a fleet to be in its kubeconfig, and no two
// clusters to which a command writes to be the same namespace of one API server.
func (f *fleetFlags) checkContexts(cmd *cobra.Command, clusters *fleet.Fleet) error {
	files := map[string]map[string]connect.Place{}
	places := map[connect.Place]string{}
	var errs []error
	for _, c := range clusters.Clusters() {
		if err := f.checkKubeconfig(cmd.Context(), c); err != nil {
			errs = append(errs, err)
			continue
		}
		file := cmp.Or(c.Kubeconfig, cmd.Flags().Lookup("kubeconfig").Value.String())
		contexts, known := files[file]
		if !known {
			flags := genericclioptions.NewConfigFlags(true)
			flags.KubeConfig = &file
			var err error
			if contexts, err = connect.ReadContexts(cmd.Context(), flags); err != nil {
				errs = append(errs, fmt.Errorf("%s: cluster %s: read the kubeconfig: %w", c.Field, c.Name, err))
			}
			files[file] = contexts
		}
		place, exists := contexts[c.Context]
		if !exists {
			if contexts != nil {
				errs = append(errs, fmt.Errorf("%s: the kubeconfig%s has no context %s%s", c.Field, inFile(file), c.Context, nearest.DidYouMean(c.Context, sortedKeys(contexts))))
			}
			continue
		}
		place.Namespace = cmp.Or(c.Namespace, cmd.Flags().Lookup("namespace").Value.String(), place.Namespace)
		if other := places[place]; other != "" && writes(cmd) {
			errs = append(errs, fmt.Errorf("%s: %s is namespace %s of the API server at %s, and so is %s: leave one of them out", c.Field, c.Name, place.Namespace, place.Server, other))
		}
		places[place] = c.Name
	}
	return errors.Join(errs...)
}

func inFile(kubeconfig string) string {
	if kubeconfig == "" {
		return ""
	}
	return " " + filepath.Clean(kubeconfig)
}

// writes reports whether a command writes to clusters.
func writes(cmd *cobra.Command) bool {
	return cmd.Name() == "apply" && cmd.Flags().Lookup("dry-run").Value.String() == "none"
}
