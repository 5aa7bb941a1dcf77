package fn_test

import (
	"strings"
	"testing"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

const sdkInput = `# of the list
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: a # of a name
    annotations:
      internal.config.kubernetes.io/path: secrets/a.yaml
      internal.config.kubernetes.io/index: '3'
- apiVersion: v1
  kind: Secret
  metadata:
    name: b
    annotations:
      tier: data
      ordapply.dev/layer: platform/old
      ordapply.dev/wave: "9"
      ordapply.dev/gate: applied
functionConfig:
  apiVersion: ordapply.dev/v1alpha1
  kind: SortOrder
  metadata: {name: platform}
  sortOrder:
  - matchAnnotations: {tier: data}
    layer: data
  - matchAnnotations: {tier: none}
`

// asFunction is the form of a processor that the SDK's AsMain and Run accept.
func asFunction(p fn.Processor) sdk.ResourceListProcessorFunc { return p.Process }

// The SDK sorts items by name when it prints a list, and drops comments outside of the items:
// programs that use its AsMain and Run keep the stamps, and only our own Run keeps the order.
func TestWhyRunPrintsTheListItself(t *testing.T) {
	names := func(stream []byte) []string {
		list, err := sdk.ParseResourceList(stream)
		require.NoError(t, err)
		var out []string
		for _, item := range list.Items {
			require.Contains(t, item.GetAnnotation("ordapply.dev/layer"), "platform/")
			out = append(out, item.GetName())
		}
		return out
	}
	out, err := sdk.Run(asFunction(fn.Processor{}), []byte(sdkInput))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names(out))
	require.NotContains(t, string(out), "# of the list")
	require.False(t, fn.Processor{}.Check(out).Findings.Failed(), "the stamps are the same")

	ours := fn.Processor{}.Run([]byte(sdkInput)).Stream()
	require.Equal(t, []string{"b", "a"}, names(ours))
	for _, kept := range []string{"# of the list\n", "name: a # of a name\n", "internal.config.kubernetes.io/index: '3'\n", sdkInput[strings.Index(sdkInput, "functionConfig:"):]} {
		require.Contains(t, string(ours), kept)
	}
}

// Items stay unchanged if the order is refused, and the errors are returned for stderr.
func TestProcessRefuses(t *testing.T) {
	list, err := sdk.ParseResourceList([]byte(sdkInput + "  - {}\n"))
	require.NoError(t, err)
	ok, err := fn.Processor{}.Process(list)
	require.False(t, ok)
	require.ErrorContains(t, err, "sortOrder[2]")
	require.Len(t, list.Results, 1)
	require.Equal(t, sdk.Error, list.Results[0].Severity)
	require.Equal(t, "sortOrder[2]", list.Results[0].Field.Path)
	require.Equal(t, &sdk.ResourceRef{APIVersion: "ordapply.dev/v1alpha1", Kind: "SortOrder", Name: "platform"}, list.Results[0].ResourceRef)
	require.Equal(t, "a", list.Items[0].GetName())
}

// Results name the file of a resource.
func TestResultsNameFiles(t *testing.T) {
	list, err := sdk.ParseResourceList([]byte(strings.Replace(sdkInput, "index: '3'", "index: '3'\n      ordapply.dev/wave: x", 1)))
	require.NoError(t, err)
	ok, _ := fn.Processor{}.Process(list)
	require.False(t, ok)
	require.Equal(t, &sdk.File{Path: "secrets/a.yaml", Index: 3}, list.Results[0].File)
}

// Processors are chained with functions of others.
func TestChain(t *testing.T) {
	list, err := sdk.ParseResourceList([]byte(sdkInput))
	require.NoError(t, err)
	label := sdk.ResourceListProcessorFunc(func(list *sdk.ResourceList) (bool, error) {
		return true, list.Items[0].SetLabel("first", "true")
	})
	ok, err := sdk.Chain(fn.Processor{}, label).Process(list)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "b", list.Items[0].GetName())
	require.Equal(t, "true", list.Items[0].GetLabel("first"))
}
