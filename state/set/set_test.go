package set

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// A kind that cannot be listed may have members in any namespace of the set:
// all of these are kept.
func TestNarrowingKeepsNamespacesOfUnlistableKinds(t *testing.T) {
	metric := schema.GroupKind{Group: "metrics.example.com", Kind: "Metric"}
	web := object.ID{Kind: "Service", Namespace: "shop", Name: "web"}
	set := &Set{Parent: applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}.WithMembers([]object.ID{
		web,
		{Kind: "Secret", Namespace: "shop", Name: "web"},
		{Group: metric.Group, Kind: metric.Kind, Namespace: "other", Name: "load"},
	})}

	next := set.narrowed([]object.ID{web}, map[schema.GroupKind]error{metric: errors.New("no answer")})
	require.Equal(t, []schema.GroupKind{metric, {Kind: "Service"}}, next.Kinds)
	require.Equal(t, []string{"other"}, next.Namespaces)

	next = set.narrowed([]object.ID{web}, nil)
	require.Equal(t, []schema.GroupKind{{Kind: "Service"}}, next.Kinds)
	require.Empty(t, next.Namespaces)
}
