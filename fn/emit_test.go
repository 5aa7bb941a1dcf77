package fn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// TestDependsOnThatDoesNotFit checks that a list of layer times layer is an
// error here, not only at the API server.
func TestDependsOnThatDoesNotFit(t *testing.T) {
	order, err := sortorder.Parse([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, emit: [kpt],
	  sortOrder: [{kind: Secret, layer: first}]}`))
	require.NoError(t, err)
	metas := []object.Meta{{ID: object.ID{Kind: "Service", Name: "web"}}}
	for i := range 4_000 {
		metas = append(metas, object.Meta{ID: object.ID{Kind: "Secret", Namespace: "namespace", Name: fmt.Sprintf("secret-%d", i)}})
	}
	decision := Planner{Order: order}.Plan(metas)
	require.Equal(t, "error: Service web: would get a config.kubernetes.io/depends-on of 159 KiB, on 4000 resources; "+
		"the maximum is 128 KiB: make smaller layers, or remove kpt from emit\n", decision.Findings.Lines())
}

// TestGroupName checks kapp's requirements for names, and that names stay
// distinct.
func TestGroupName(t *testing.T) {
	require.Equal(t, "ordapply.dev/platform.data", groupName("platform/data"))
	seen := map[string]string{}
	for _, layer := range []string{
		"platform/data", "platform/a-b_c.d", "platform/tier=data", "platform/tier-data", "platform/example.com/x", "platform/ends-",
		"platform/-starts", ".platform/x", "a.b/c", "a/b.c", "a/b/c", "=/=", strings.Repeat("x", 80) + "/y", strings.Repeat("x", 81) + "/y",
	} {
		name := groupName(layer)
		require.Empty(t, seen[name], "%s and %s are both %s", seen[name], layer, name)
		seen[name] = layer
		_, local, _ := strings.Cut(name, "/")
		require.LessOrEqual(t, len(local), 63, name)
		require.Regexp(t, `^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`, local)
	}
}
