package differential

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same seed always draws the same objects and edits.
func TestDrawingIsDeterministic(t *testing.T) {
	draw := func() (drawn []map[string]any) {
		r := rand.New(rand.NewPCG(1, 2))
		documents := kinds(t)
		for i, o := range drawBatch(r, documents, 0, 100) {
			other := copied((&artist{Rand: r}).object(documents[i%len(documents)], idOf(o).Name))
			drawn = append(drawn, copied(o), edit(r, copied(o), other))
		}
		return drawn
	}
	first := draw()
	require.Equal(t, first, draw())
	for _, o := range first {
		require.NotEmpty(t, idOf(o).Name)
		require.NotEmpty(t, idOf(o).Kind)
	}
}

// put and drop change no object that they were given.
func TestEditsShareNothing(t *testing.T) {
	object := map[string]any{"a": map[string]any{"b": []any{"x", map[string]any{"c": "y"}}}}
	require.Equal(t, map[string]any{"a": map[string]any{"b": []any{"x", map[string]any{"c": 1}}}}, put(object, path{"a", "b", 1, "c"}, 1))
	require.Equal(t, map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": "y"}}}}, drop(object, path{"a", "b", 0}))
	require.Equal(t, map[string]any{"a": map[string]any{"b": []any{"x", map[string]any{}}}}, drop(object, path{"a", "b", 1, "c"}))
	require.Equal(t, map[string]any{"a": map[string]any{"b": []any{"x", map[string]any{"c": "y"}}}}, object)
}
