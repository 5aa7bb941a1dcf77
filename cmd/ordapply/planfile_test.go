package main

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/operation"
)

// applyFlags returns the command apply with these arguments parsed.
func applyFlags(t *testing.T, args ...string) *cobra.Command {
	t.Helper()
	cmd := newApply(console.New(nil, io.Discard, io.Discard))
	require.NoError(t, cmd.ParseFlags(args))
	return cmd
}

// planFileOf returns a plan file of the options that the flags of plan give.
func planFileOf(t *testing.T, args ...string) *operation.PlanFile {
	t.Helper()
	op := operation.NewPreview()
	set := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	registerPreview(set, &op)
	require.NoError(t, set.Parse(args))
	return &operation.PlanFile{Operation: op, Namespace: *op.Cluster.Namespace}
}

// A plan file sets the flags that apply leaves open; another value of a given one is an error,
// unless it is the location of the manifests.
func TestAPlanFileFillsFlags(t *testing.T) {
	file := planFileOf(t, "-f", "a.yaml", "-f", "b,c.yaml", "--applyset", "shop", "--prune", "--ordering=false", "--force-conflicts=helm", "-n", "prod", "--prerequisite-kinds", "A,B")
	cmd := applyFlags(t)
	require.NoError(t, fill(cmd.Flags(), file))
	for name, want := range map[string][]string{
		"filename": {"a.yaml", "b", "c.yaml"}, "applyset": {"shop"}, "prune": {"true"}, "ordering": {"false"}, "force-conflicts": {"helm"},
		"namespace": {"prod"}, "prerequisite-kinds": {"A", "B"}, "adopt": {"unowned"}, "wait": {"true"},
	} {
		require.Equal(t, want, flagValues(cmd.Flags().Lookup(name)), name)
	}
	given := applyFlags(t, "-f", "other.yaml", "-n", "elsewhere", "--applyset", "shop")
	require.NoError(t, fill(given.Flags(), file))
	require.Equal(t, []string{"other.yaml"}, flagValues(given.Flags().Lookup("filename")))
	require.Equal(t, []string{"elsewhere"}, flagValues(given.Flags().Lookup("namespace")))
	require.EqualError(t, fill(applyFlags(t, "--applyset", "other").Flags(), file), `--applyset is ["other"], and the plan was made with ["shop"]: leave it out, or plan again`)
	require.EqualError(t, fill(applyFlags(t, "--take-over").Flags(), file), `--take-over is ["true"], and the plan was made with ["false"]: leave it out, or plan again`)
}

// A plan file sets no flag that selects a cluster, contains credentials, starts a build or lets
// it run programs.
func TestAPlanFileSetsNoOtherFlag(t *testing.T) {
	file := planFileOf(t, "-f", "a.yaml", "--context", "x", "--token", "x", "--server", "https://x", "--as", "root", "-k", "base", "--enable-exec", "--enable-alpha-plugins", "--prune", "--applyset", "shop")
	cmd := applyFlags(t)
	require.NoError(t, fill(cmd.Flags(), file))
	var changed []string
	cmd.Flags().Visit(func(flag *pflag.Flag) { changed = append(changed, flag.Name) })
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !slices.Contains(changed, flag.Name) {
			changed = append(changed, flag.Name)
		}
	})
	slices.Sort(changed)
	require.Equal(t, []string{"applyset", "filename", "prune"}, changed)
}

// A plan file cannot make apply fetch a URL: the author of the file would choose the server.
func TestAPlanFileFetchesNothing(t *testing.T) {
	for _, name := range []string{"https://xxxxx@example.com/app.yaml", "https://example.com/app.yaml", "HTTP://169.254.169.254/meta"} {
		file := planFileOf(t, "-f", "app.yaml", "-f", name)
		cmd := applyFlags(t)
		require.EqualError(t, fill(cmd.Flags(), file), "the plan was made from "+name+", and a plan file cannot make apply fetch a URL: name all sources again with -f")
		require.False(t, cmd.Flags().Lookup("filename").Changed)
		given := applyFlags(t, "-f", "other.yaml")
		require.NoError(t, fill(given.Flags(), file))
		require.Equal(t, []string{"other.yaml"}, flagValues(given.Flags().Lookup("filename")))
	}
}
