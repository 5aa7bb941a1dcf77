package operation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/usage"
)

// Options about an apply set require its name. --delete does not: it deletes the objects of
// manifests too.
func TestFlagsOfASet(t *testing.T) {
	for _, give := range []func(*Roles){
		func(r *Roles) { r.Prune = true }, func(r *Roles) { r.TakeOver = true }, func(r *Roles) { r.RollbackOnFailure = true },
		func(r *Roles) { r.Rollback = true }, func(r *Roles) { r.Status = true },
	} {
		r := NewRoles()
		give(&r)
		require.ErrorAs(t, r.checkSet(), new(*usage.Error), "%+v", r)
		r.Set = "shop"
		require.NoError(t, r.checkSet())
	}
	require.NoError(t, (&Roles{Delete: true}).checkSet())
}

// Without a cluster a set's parent is a Secret or a ConfigMap of the command's namespace: the
// scope of another kind is not known.
func TestParentWithoutACluster(t *testing.T) {
	w := rolesRequest{scope: apply.Scope{Namespace: "shop"}}
	for text, want := range map[string]string{
		"a": "Secret shop/a", "secret/a": "Secret shop/a", "secrets/a": "Secret shop/a", "cm/a": "ConfigMap shop/a", "ConfigMap/a": "ConfigMap shop/a",
		"pods/a": "", "applysets.example.com/a": "", "secret/": "", "": "",
	} {
		id, kind, err := w.parent(t.Context(), text)
		if want == "" {
			require.ErrorAs(t, err, new(*usage.Error), text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, id.String(), text)
		require.True(t, kind.Namespaced)
	}
}

// A guess is reported once for each kind, and not for each version.
func TestGuessedPlurals(t *testing.T) {
	g := &guessedPlurals{}
	for _, version := range []string{"v1", "v1", "v2"} {
		kind, known := g.kind(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Policy"})
		require.True(t, known)
		require.Equal(t, "policies", kind.Resource.Resource)
		require.True(t, kind.Namespaced)
	}
	require.Len(t, g.notes(), 1)
}
