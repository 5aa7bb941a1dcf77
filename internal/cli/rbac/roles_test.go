package rbac

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
)

// permissions parses permissions such as "get pods.core/log web in shop"; the group core is "".
func permissions(texts ...string) []kube.Permission {
	var out []kube.Permission
	for _, text := range texts {
		what, namespace, _ := strings.Cut(text, " in ")
		words := append(strings.Fields(what), "")
		plural, subresource, _ := strings.Cut(words[1], "/")
		resource := schema.ParseGroupResource(strings.TrimSuffix(plural, ".core"))
		out = append(out, kube.Permission{Verb: words[0], Resource: resource.WithVersion("v1"), Subresource: subresource, Namespace: namespace, Name: words[2]})
	}
	return out
}

// Resources with equal verbs share a rule, unless it names objects.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct{ permissions, rules []string }{
		"verbs of a resource": {
			[]string{"patch pods.core", "get pods.core", "get pods.core"},
			[]string{`{apiGroups: [""], resources: [pods], verbs: [get, patch]}`},
		},
		"equal verbs": {
			[]string{"get services.core", "get pods.core/log", "get pods.core"},
			[]string{`{apiGroups: [""], resources: [pods, pods/log, services], verbs: [get]}`},
		},
		"names with equal verbs": {
			[]string{"get secrets.core b", "get secrets.core a", "patch secrets.core a", "patch secrets.core b"},
			[]string{`{apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get, patch]}`},
		},
		"a name of two resources": {
			[]string{"get secrets.core a", "get configmaps.core a"},
			[]string{`{apiGroups: [""], resources: [configmaps], resourceNames: [a], verbs: [get]}`, `{apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]}`},
		},
		"any name includes each": {
			[]string{"get secrets.core true", "get secrets.core", "patch secrets.core true"},
			[]string{`{apiGroups: [""], resources: [secrets], verbs: [get]}`, `{apiGroups: [""], resources: [secrets], resourceNames: ["true"], verbs: [patch]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, r := range RulesOf(kube.Permissions{Required: permissions(c.permissions...)})[""] {
				lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(r.yaml(), "- "), "\n"))
			}
			require.Equal(t, c.rules, lines)
		})
	}
}

// The rules grant each permission, required or optional, in its own namespace, and no other.
func TestRulesGrantExactlyThePermissions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range 500 {
		var all kube.Permissions
		needed := map[string]bool{}
		for range 1 + random.IntN(12) {
			p := kube.Permission{Verb: pick("get", "list"), Namespace: pick("", "a"), Name: pick("", "x", "y"), Subresource: pick("", "", "log")}
			p.Resource = schema.GroupVersionResource{Group: pick("", "apps"), Version: "v1", Resource: pick("pods", "sets")}
			list := &all.Required
			if random.IntN(2) == 0 {
				list = &all.Optional
			}
			*list = append(*list, p)
			needed[p.String()] = true
		}
		for _, p := range slices.Concat(all.Required, all.Optional) {
			if p.Name != "" && needed[p.OfAnyName().String()] {
				delete(needed, p.String())
			}
		}
		granted := map[string]bool{}
		for namespace, rules := range RulesOf(all) {
			for _, r := range rules {
				names := r.names
				if len(names) == 0 {
					names = []string{""}
				}
				for _, resource := range r.resources {
					p := kube.Permission{Namespace: namespace}
					p.Resource.Group = r.group
					p.Resource.Resource, p.Subresource, _ = strings.Cut(resource, "/")
					for _, p.Verb = range r.verbs {
						for _, p.Name = range names {
							granted[p.String()] = true
						}
					}
				}
			}
		}
		require.Equal(t, needed, granted, "%v", all)
	}
}

// A new object of a namespaced kind needs no new Role; the name of a Namespace stays, although
// permissions for it are in its own namespace.
func TestPermissionsByKind(t *testing.T) {
	given := kube.Permissions{
		Required: permissions("get secrets.core a in shop", "get namespaces.core shop in shop", "get clusterroles.rbac.authorization.k8s.io a"),
		Optional: permissions("get pods.core/log a in shop"),
	}
	want := kube.Permissions{
		Required: permissions("get secrets.core in shop", "get namespaces.core shop in shop", "get clusterroles.rbac.authorization.k8s.io a"),
		Optional: permissions("get pods.core/log in shop"),
	}
	require.Equal(t, want, ByKind(given))
	require.Equal(t, "a", given.Required[0].Name, "its argument is unchanged")
}

// The rules with which an account reaches further than the manifests.
func TestWide(t *testing.T) {
	for permission, want := range map[string]string{
		"patch storageclasses.storage.k8s.io":                 "patch on all storageclasses.storage.k8s.io of the cluster",
		"patch clusterroles.rbac.authorization.k8s.io":        "patch on all clusterroles of the cluster: these include the permissions of others",
		"delete roles.rbac.authorization.k8s.io in shop":      "delete on all roles in namespace shop: these include the permissions of others",
		"get secrets.core in shop":                            "get on all secrets in namespace shop: keep no other Secrets there",
		"get secrets.core":                                    "get on all secrets of the cluster: keep no other Secrets there",
		"patch clusterroles.rbac.authorization.k8s.io admin":  "", // named
		"get secrets.core a in shop":                          "", // named
		"list clusterroles.rbac.authorization.k8s.io":         "", // reads
		"watch namespaces.core":                               "", // reads
		"patch roles.rbac.authorization.k8s.io in shop":       "", // deletes no Role of others
		"delete configmaps.core in shop":                      "", // as the manifests
		"get secrets.secrets-store.csi.x-k8s.io in shop":      "", // of another group
		"delete roles.rbac.authorization.k8s.io mine in shop": "", // named
		"deletecollection pods.metrics.k8s.io in shop":        "", // namespaced
	} {
		lines := RulesOf(kube.Permissions{Required: permissions(permission)}).Wide()
		if want == "" {
			require.Empty(t, lines, permission)
			continue
		}
		require.Len(t, lines, 2, permission)
		require.Equal(t, "  "+want, lines[1])
	}
}
