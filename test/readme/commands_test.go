package readme

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Commands are found in blocks, inline code and prose, and output is none.
func TestCommands(t *testing.T) {
	page := "Use ordapply --dry-run, or `kustomize build . | ordapply -q\n--prune`.\n" +
		"ordapply applies, and `ordapply` waits; `kubectl ordapply plan …` too.\n\n" +
		"```sh\nif ! ordapply vet -f a.yaml > out; then exit 1; fi\nX=1 bin/ordapply apply -f a.yaml \\\n  --yes # a comment\n```\n\n" +
		"```console\n$ ordapply status shop\nordapply is output\n```\n\n| a | `helm template c \\| ordapply apply -f -` |\n"
	require.Equal(t, [][]string{
		{"vet", "-f", "a.yaml"}, {"apply", "-f", "a.yaml", "--yes"}, {"status", "shop"},
		{"-q", "--prune"}, nil, {"plan"}, {"apply", "-f", "-"}, {"--dry-run"},
	}, Commands(page, "ordapply"))
}
