package apply_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
)

// The permissions for watches, which save requests during a wait, are
// optional: for a webhook's endpoints, and for definitions of kinds that the
// stream does not define.
func TestPermissionsOfAWait(t *testing.T) {
	rocket := plainPod("moon")
	rocket["apiVersion"], rocket["kind"] = "example.com/v1", "Rocket"
	known := func(gvk schema.GroupVersionKind) (kube.Kind, bool) {
		if gvk.Group == "example.com" {
			return kube.Kind{}, false
		}
		return kube.OwnKinds(gvk)
	}
	for name, manifests := range map[string][]map[string]any{
		"nobody brings it":   {rocket},
		"something does":     {annotated(plainPod("operator"), "ordapply.dev/provides", "example.com/Rocket"), rocket},
		"it is of elsewhere": {needing("web", "external:example.com/namespaces/shop/Rocket/moon")},
	} {
		t.Run(name, func(t *testing.T) {
			plan, stream := planOf(t, append(manifests, guardedBy("a", "guard"))...)
			p := apply.Applier{}.Permissions(plan, stream.Objects, known)
			optional := texts(p.Optional)
			for _, text := range []string{
				"list customresourcedefinitions.apiextensions.k8s.io", "watch customresourcedefinitions.apiextensions.k8s.io",
				"list apiservices.apiregistration.k8s.io", "watch apiservices.apiregistration.k8s.io",
				`watch endpointslices.discovery.k8s.io in namespace "shop"`,
			} {
				require.Contains(t, optional, text)
			}
			require.Contains(t, texts(p.Required), `list endpointslices.discovery.k8s.io in namespace "shop"`)
		})
	}
	t.Run("the stream defines none", func(t *testing.T) {
		plan, stream := planOf(t, plainPod("a"))
		require.NotContains(t, texts(apply.Applier{}.Permissions(plan, stream.Objects, known).Optional), "watch customresourcedefinitions.apiextensions.k8s.io")
	})
}

func texts(list []kube.Permission) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}
