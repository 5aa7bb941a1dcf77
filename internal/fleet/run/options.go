// Package run runs an operation on the clusters of a fleet: it copies the operation for each
// of them.
//
//	fleet := run.Options{File: "fleet.yaml"}
//	err := fleet.Apply(ctx, console, operation.NewApply(), "")
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/fleet"
)

// Options select the clusters of an operation.
type Options struct {
	// File has a Fleet.
	File string
	// Kubeconfigs uses the kubeconfigs that the Fleet names, too.
	Kubeconfigs bool
	// Contexts are contexts of the kubeconfig, one after the other, instead of a Fleet.
	Contexts []string

	flags *pflag.FlagSet
}

// Register defines the flags.
func (o *Options) Register(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.File, "fleet", "", "file with a Fleet: run on its clusters, cohort by cohort, instead of on that of --context")
	flags.BoolVar(&o.Kubeconfigs, "fleet-kubeconfigs", false, "also use the kubeconfigs that the Fleet names; credential plugins in them are refused")
	flags.StringSliceVar(&o.Contexts, "contexts", nil, "kubeconfig contexts: run on these clusters one after the other, until one fails")
}

// Selected reports whether the options select clusters. A flag with an empty value, as of an
// unset variable of a shell, would otherwise mean the current context: it is an error.
func (o *Options) Selected() (bool, error) {
	if o.File != "" || len(o.Contexts) > 0 {
		return true, nil
	}
	for _, name := range []string{"fleet", "contexts"} {
		if flags.IsOnCommandLine(o.flags.Lookup(name)) {
			return false, usage.Errorf("--%s is empty: name clusters, or leave it out for the cluster of the current context", name)
		}
	}
	return false, nil
}

// flag returns the flag that selects the clusters, for messages.
func (o *Options) flag() string {
	if o.File != "" {
		return "--fleet"
	}
	return "--contexts"
}

// read returns the fleet.
func (o *Options) read(ctx context.Context, c *console.Console) (*fleet.Fleet, error) {
	switch {
	case o.File == "-":
		return nil, usage.Errorf("--fleet -: standard input is for the manifests: name a file")
	case o.File != "" && len(o.Contexts) > 0:
		return nil, usage.Errorf("--fleet and --contexts both name clusters: leave one of them out")
	case o.File == "":
		clusters, err := fleet.OfContexts(o.Contexts)
		if err != nil {
			err = usage.Wrap(err)
		}
		return clusters, err
	}
	text, err := c.ReadFile(ctx, o.File, "--fleet")
	if err != nil {
		return nil, fmt.Errorf("read the fleet: %w", err)
	}
	return fleet.Parse(o.File, text)
}

// checkCluster rejects options of an operation that select a cluster, too.
func (o *Options) checkCluster(cluster *genericclioptions.ConfigFlags) error {
	var errs []error
	for _, no := range []struct {
		flag  string
		value *string
	}{{"context", cluster.Context}, {"cluster", cluster.ClusterName}, {"server", cluster.APIServer}} {
		if *no.value != "" {
			errs = append(errs, usage.Errorf("--%s and %s both select clusters: leave one of them out", no.flag, o.flag()))
		}
	}
	return errors.Join(errs...)
}

// checkOnePlan rejects a plan file.
func (o *Options) checkOnePlan(flag string, given bool) error {
	if given {
		return usage.Errorf("--%s: a plan file is about one cluster: leave out %s", flag, o.flag())
	}
	return nil
}

// on returns the selection of a cluster of the fleet.
func on(c fleet.Cluster, given *genericclioptions.ConfigFlags) *genericclioptions.ConfigFlags {
	out := genericclioptions.NewConfigFlags(true)
	out.CacheDir, out.ClusterName, out.AuthInfoName, out.APIServer = given.CacheDir, given.ClusterName, given.AuthInfoName, given.APIServer
	out.TLSServerName, out.Insecure, out.CertFile, out.KeyFile, out.CAFile = given.TLSServerName, given.Insecure, given.CertFile, given.KeyFile, given.CAFile
	out.BearerToken, out.Username, out.Password = given.BearerToken, given.Username, given.Password
	out.Impersonate, out.ImpersonateUID, out.ImpersonateGroup, out.ImpersonateUserExtra = given.Impersonate, given.ImpersonateUID, given.ImpersonateGroup, given.ImpersonateUserExtra
	out.Timeout, out.DisableCompression = given.Timeout, given.DisableCompression
	kubeconfig, namespace := cmp.Or(c.Kubeconfig, *given.KubeConfig), cmp.Or(c.Namespace, *given.Namespace)
	out.Context, out.KubeConfig, out.Namespace = &c.Context, &kubeconfig, &namespace
	return out
}
