package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
)

func TestTextsOfMetadata(t *testing.T) {
	obj := map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"text": "a", "null": nil, "number": int64(1)},
		"labels":      map[string]any{"text": "b"},
	}}
	type found struct {
		value string
		has   bool
	}
	of := func(value string, has bool) found { return found{value, has} }
	require.Equal(t, found{"a", true}, of(object.Annotation(obj, "text")))
	require.Equal(t, found{"", true}, of(object.Annotation(obj, "null")))
	require.Equal(t, found{"", true}, of(object.Annotation(obj, "number")))
	require.Equal(t, found{}, of(object.Annotation(obj, "other")))
	require.Equal(t, found{"b", true}, of(object.Label(obj, "text")))
	require.Equal(t, found{}, of(object.Label(map[string]any{"metadata": "broken"}, "text")))
	require.Equal(t, found{}, of(object.Label(nil, "text")))
}
