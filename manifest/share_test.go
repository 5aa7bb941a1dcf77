package manifest

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Manifests share the texts that they have in common, and are not changed otherwise.
func TestManifestsShareTexts(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop"},"spec":{"containers":[{"image":"a"}]},"data":{"containers":"a"}}`
	read := func() map[string]any {
		var object map[string]any
		require.NoError(t, utiljson.Unmarshal([]byte(text), &object))
		return object
	}
	a, b := read(), read()
	share(a)
	share(b)
	require.Equal(t, read(), a)

	for _, at := range [][]string{{}, {"metadata"}, {"spec"}, {"spec", "containers"}} {
		require.Equal(t, names(a, at...), names(b, at...), at)
	}
	require.NotEqual(t, names(a, "data"), names(b, "data"))
	for _, name := range []string{"apiVersion", "kind"} {
		require.Equal(t, address(a[name].(string)), address(b[name].(string)))
	}
	require.Equal(t, address(a["metadata"].(map[string]any)["namespace"].(string)), address(b["metadata"].(map[string]any)["namespace"].(string)))
}

// names returns the addresses of the names of a map at a place; of the first item of a list.
func names(value any, at ...string) map[string]uintptr {
	for _, name := range at {
		value = value.(map[string]any)[name]
		if list, ok := value.([]any); ok {
			value = list[0]
		}
	}
	out := map[string]uintptr{}
	for name := range value.(map[string]any) {
		out[name] = address(name)
	}
	return out
}

func address(text string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(text))) }
