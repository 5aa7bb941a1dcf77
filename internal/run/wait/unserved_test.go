package wait

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served is a cluster, as far as suggestions read it.
type served struct {
	KindServer
	kinds []schema.GroupVersionKind
}

func (s served) StoredKinds() []schema.GroupVersionKind { return s.kinds }

// A kind or a group with a wrong letter is taken for the one that is served; of kinds
// of other groups, only those of the same name are.
func TestDidYouMean(t *testing.T) {
	cluster := served{kinds: []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "kc.dev", Version: "v1", Kind: "Gizmo"}, {Group: "kc.dev", Version: "v1", Kind: "Rocket"},
	}}
	for _, c := range []struct{ group, kind, want string }{
		{"kc.dev", "Gismo", "; did you mean Gizmo of kc.dev/v1?"},
		{"kc.dev", "gizmo", "; did you mean Gizmo of kc.dev/v1?"},
		{"kc.dev", "Gizmos", "; did you mean Gizmo of kc.dev/v1?"},
		{"kc.dv", "Gizmo", "; did you mean Gizmo of kc.dev/v1?"},
		{"app", "Deployment", "; did you mean Deployment of apps/v1?"},
		{"kc.dv", "Gismo", ""},
		{"kc.dev", "Certificate", ""},
		{"other.dev", "Gizmo", ""},
		{"po", "Pod", ""},
	} {
		require.Equal(t, c.want, DidYouMean(cluster, schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: c.kind}), c)
	}
}
