package kptsdk_test

import (
	"testing"

	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/fn/kptsdk"
)

const sdkInput = `
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: a
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

// TestSDKRun uses the SDK's own Run, which sorts by name and keeps the stamps;
// both results equal those of our own reader.
func TestSDKRun(t *testing.T) {
	out, err := sdk.Run(kptsdk.Processor(fn.Function{}), []byte(sdkInput))
	require.NoError(t, err)
	require.Contains(t, string(out), "ordapply.dev/layer: platform/unmatched")
	again := fn.Function{}.Check(out)
	require.False(t, again.Findings.Failed(), again.Findings.Lines())
	require.NotContains(t, string(out), "ordapply.dev/gate")
	require.Contains(t, string(out), "layer tier=none matches nothing")
}

// TestSDKRefusal checks that the items stay unchanged.
func TestSDKRefusal(t *testing.T) {
	list, err := sdk.ParseResourceList([]byte(sdkInput + "  - {}\n"))
	require.NoError(t, err)
	ok, err := kptsdk.Processor(fn.Function{}).Process(list)
	require.NoError(t, err)
	require.False(t, ok)
	require.Len(t, list.Items, 2)
	require.Len(t, list.Results, 1)
	require.Equal(t, "sortOrder[2]", list.Results[0].Field.Path)
	require.Equal(t, "a", list.Items[0].GetName())
}
