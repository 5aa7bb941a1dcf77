package fleetrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/abortable"
	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/usage"
)

// fleetFlags select the clusters of a command.
type fleetFlags struct {
	file     string
	contexts []string
	program  Program
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
	return clusters, errors.Join(checkGates(cmd, clusters), checkContexts(cmd, clusters))
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

// check rejects flags that do not go together with a fleet.
func (f *fleetFlags) check(cmd *cobra.Command) error {
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
	if cmd.Flags().Lookup("output").Value.String() == "name" {
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

// checkContexts requires every context of a fleet to be in its kubeconfig.
func checkContexts(cmd *cobra.Command, f *fleet.Fleet) error {
	files := map[string]connect.Names{}
	var errs []error
	for _, c := range f.Clusters() {
		file := c.Kubeconfig
		if file == "" {
			file = cmd.Flags().Lookup("kubeconfig").Value.String()
		}
		names, known := files[file]
		if !known {
			flags := genericclioptions.NewConfigFlags(true)
			flags.KubeConfig = &file
			var err error
			if names, err = connect.ReadNames(cmd.Context(), flags); err != nil {
				errs = append(errs, fmt.Errorf("%s: cluster %s: read the kubeconfig: %w", c.Field, c.Name, err))
			}
			files[file] = names
		}
		if !slices.Contains(names.Contexts, c.Context) && (names.Contexts != nil || file == "") {
			in := ""
			if file != "" {
				in = " " + filepath.Clean(file)
			}
			errs = append(errs, fmt.Errorf("%s: the kubeconfig%s has no context %s%s", c.Field, in, c.Context, nearest.DidYouMean(c.Context, names.Contexts)))
		}
	}
	return errors.Join(errs...)
}
