package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The newest revision that contains any of the objects is taken as a whole,
// because its rules may refer to all of its resources; an older one adds the
// missing ones.
func TestNewestRevisionIsTakenWhole(t *testing.T) {
	named := func(names ...string) (out []ordering.Resource) {
		for _, name := range names {
			out = append(out, ordering.Resource{Meta: object.Meta{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}}})
		}
		return out
	}
	missing := map[object.ID]*unstructured.Unstructured{}
	for _, r := range named("a", "old", "oldest") {
		missing[r.ID] = &unstructured.Unstructured{}
	}
	newest := Revision{Resources: named("a", "stays"), Options: ordering.Options{SkipHooks: true}}
	past := withMissing(Revision{}, Revision{Resources: named("of no use")}, missing)
	require.Empty(t, past.Resources)
	past = withMissing(past, newest, missing)
	past = withMissing(past, Revision{Resources: named("a", "old", "other")}, missing)
	require.Equal(t, named("a", "stays", "old"), past.Resources)
	require.True(t, past.Options.SkipHooks)
	require.Len(t, missing, 1, "none holds the oldest")
}
