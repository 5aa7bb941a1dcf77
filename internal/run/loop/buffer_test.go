package loop

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func at(uid, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetUID(types.UID(uid))
	obj.SetResourceVersion(version)
	return obj
}

// The answer to the PATCH is version 5 of object a.
func TestBufferComparesWithTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		held        *unstructured.Unstructured
		change      Change
		newer, read bool
	}{
		"nothing":                  {},
		"an older version":         {held: at("a", "4")},
		"the version of the PATCH": {held: at("a", "5")},
		"a newer version":          {held: at("a", "6"), newer: true},
		"deleted":                  {held: at("a", "6"), change: Deleted, read: true},
		"lost its label":           {held: at("a", "6"), change: Left, read: true},
		"another object":           {held: at("b", "6")},
		"an opaque version":        {held: at("a", "x"), read: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := Buffer{}
			if c.held != nil {
				b.Put(c.held, c.change)
			}
			newer, read := b.Take(at("a", "5"))
			require.Equal(t, c.read, read)
			require.Equal(t, c.newer, newer != nil)
			newer, read = b.Take(at("a", "5"))
			require.False(t, read || newer != nil, "it is empty now")
		})
	}
}
