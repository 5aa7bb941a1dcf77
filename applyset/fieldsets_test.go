package applyset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fields are parsed once for all objects that share them or have equal ones, however many others
// there are.
func TestFieldSets(t *testing.T) {
	fields := func(name string) map[string]any {
		return map[string]any{"f:data": map[string]any{"f:" + name: map[string]any{}}}
	}
	sets, shared := newFieldSets(), fields("a")
	first, err := sets.of(Writer{Fields: shared})
	require.NoError(t, err)
	require.JSONEq(t, `{"f:data":{"f:a":{}}}`, textOf(t, first))
	again, err := sets.of(Writer{Fields: shared})
	require.NoError(t, err)
	require.Same(t, first, again)
	equal, err := sets.of(Writer{Fields: fields("a")})
	require.NoError(t, err)
	require.Same(t, first, equal)
	for i := range 3 * maxFieldSets {
		name := fmt.Sprint(i)
		other, err := sets.of(Writer{Fields: fields(name)})
		require.NoError(t, err)
		require.JSONEq(t, `{"f:data":{"f:`+name+`":{}}}`, textOf(t, other))
	}
	require.Len(t, sets.shared, maxFieldSets)
	_, err = sets.of(Writer{Fields: map[string]any{"no field": 1}})
	require.Error(t, err)
}

func textOf(t *testing.T, set interface{ ToJSON() ([]byte, error) }) string {
	t.Helper()
	text, err := set.ToJSON()
	require.NoError(t, err)
	return string(text)
}
