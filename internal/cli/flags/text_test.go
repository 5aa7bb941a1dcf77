package flags

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func tree() (root, apply *cobra.Command) {
	do := func(*cobra.Command, []string) {}
	root = &cobra.Command{Use: "tool"}
	root.PersistentFlags().String("config", "", "file with values for flags")
	apply = &cobra.Command{Use: "apply -f FILE", Short: "Apply manifests", Run: do}
	apply.Flags().StringSliceP("filename", "f", nil, "file with manifests")
	apply.Flags().String("order", "", "file with a SortOrder")
	apply.Flags().String("frame", "", "which order to use")
	apply.Flags().Int("depth", 0, "a flag of its own")
	genericclioptions.NewConfigFlags(true).AddFlags(apply.Flags())
	root.AddCommand(apply, &cobra.Command{Use: "version", Short: "Print the version", Run: do})
	InstallHelp(root, func() int { return 0 }, Task{"Apply:", []string{"apply"}}, Task{Title: "Others:"})
	return root, apply
}

func TestVerbsAreListedByTask(t *testing.T) {
	root, _ := tree()
	text := usageOf(root, 0)
	require.Regexp(t, `(?s)\nApply:\n  apply +Apply manifests\n\nOthers:\n.*  version +Print the version\n`, text)
	require.NotContains(t, text, "--config", "options explains it")
}

// A description that is wider than the terminal goes on in its column.
func TestDescriptionsWrap(t *testing.T) {
	root, _ := tree()
	require.Contains(t, usageOf(root, 24), "\n  apply        Apply\n               manifests\n")
}

func TestFlagsAreListedByTopic(t *testing.T) {
	_, apply := tree()
	require.Equal(t, `Usage:
  tool apply -f FILE [flags]

Manifests:
  -f, --filename strings   file with manifests

Order:
      --order string   file with a SortOrder

Flags:
      --depth int   a flag of its own

Further flags, explained by "tool options apply":
  --frame

Flags of kubectl, such as --context, and of every command: "tool options"
`, usageOf(apply, 0))
}

func TestOptionsExplainsTheRest(t *testing.T) {
	root, apply := tree()
	require.Contains(t, optionsOf(apply, 0), "--frame string   which order to use")
	all := optionsOf(root, 0)
	require.Contains(t, all, "--config string   file with values")
	require.Contains(t, all, "--context string")
}
