package fn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

const packInput = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: b
    annotations:
      kustomize.config.k8s.io/id: x
  stringData:
    text: |+
      kept to the byte, é

- apiVersion: v1
  kind: Namespace
  metadata:
    name: a
    annotations:
      kustomize.config.k8s.io/id: y
functionConfig:
  apiVersion: ordapply.dev/v1alpha1
  kind: SortOrder
  metadata:
    name: platform
  carry: pack
`

const unpackConfig = `functionConfig:
  apiVersion: ordapply.dev/v1alpha1
  kind: SortOrder
  metadata:
    name: platform-unpack
  carry: unpack
  of: platform
`

// forUnpack returns a packed list as input of the second pass.
func forUnpack(t *testing.T) string {
	packed := fn.Processor{}.Run([]byte(packInput))
	require.False(t, packed.Findings.Failed(), packed.Findings.Lines())
	list, _, found := strings.Cut(string(packed.Stream()), "functionConfig:")
	require.True(t, found)
	return list + unpackConfig
}

// TestCarry packs and unpacks, and compares with a single pass.
func TestCarry(t *testing.T) {
	out := fn.Processor{}.Run([]byte(forUnpack(t)))
	require.False(t, out.Findings.Failed(), out.Findings.Lines())
	want := fn.Processor{}.Run([]byte(strings.ReplaceAll(packInput, "  carry: pack\n", "")))
	requireSameOrderedObjects(t, []byte(itemsText(string(want.Stream()))), []byte(itemsText(string(out.Stream()))))
	require.Contains(t, string(out.Stream()), "ordapply.dev/layer: platform/unmatched")
}

func itemsText(list string) string {
	items, _, _ := strings.Cut(list, "functionConfig:")
	return items
}

// TestCarryMisuse changes the data between the passes.
func TestCarryMisuse(t *testing.T) {
	list := forUnpack(t)
	carrier := strings.TrimPrefix(itemsText(list), "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for name, c := range map[string]struct{ old, new, reason string }{
		"payload":    {"kept to the byte", "kept to the bit", "a transformer ran between"},
		"checksum":   {"checksum: sha256:", "checksum: sha256:0", "a transformer ran between"},
		"label":      {"    name: platform_second_pass_missing\n", "    name: platform_second_pass_missing\n    labels: {a: b}\n", "a transformer ran between"},
		"annotation": {"    name: platform_second_pass_missing\n", "    name: platform_second_pass_missing\n    annotations: {a: b}\n", "a transformer ran between"},
		"namespace":  {"    name: platform_second_pass_missing\n", "    name: platform_second_pass_missing\n    namespace: b\n", "a transformer ran between"},
		"field":      {"  kind: SecondPassMissing\n", "  kind: SecondPassMissing\n  spec: {}\n", "a transformer ran between"},
		"prefix":     {"name: platform_second", "name: p-platform_second", "a transformer ran between"},
		"other":      {"name: platform_second", "name: different_second", "different_second_pass_missing was packed, but order platform is to be unpacked"},
		"beside":     {"functionConfig:", "- apiVersion: v1\n  kind: Secret\n  metadata: {name: late}\nfunctionConfig:", "Secret late was added between the two passes"},
		"twice":      {"functionConfig:", carrier + "functionConfig:", "2 orders are packed at once"},
		"none":       {carrier, "", "nothing was packed"},
	} {
		require.Contains(t, list, c.old, name)
		out := fn.Processor{}.Run([]byte(strings.Replace(list, c.old, c.new, 1)))
		require.True(t, out.Findings.Failed(), name)
		require.Contains(t, out.Findings.Lines(), c.reason, name)
		require.NotEmpty(t, out.Stream(), "the list comes back with its results")
	}
	noted := strings.Replace(list, "    name: platform_second_pass_missing\n",
		"    name: platform_second_pass_missing\n    annotations: {internal.config.kubernetes.io/index: '0', kustomize.config.k8s.io/id: x, alpha.config.kubernetes.io/transformations: y}\n", 1)
	require.False(t, fn.Processor{}.Run([]byte(noted)).Findings.Failed(), "kustomize's own notes are no change")
}
