package rbac

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// resource returns a resource of namespace shop.
func resource(kind, name string, annotations map[string]string) ordering.Resource {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	obj.SetNamespace("shop")
	obj.SetName(name)
	obj.SetAnnotations(annotations)
	return ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object}
}

// named returns the names in the required permissions with a verb.
func named(p kube.Permissions, verb string) []string {
	var names []string
	for _, one := range p.Required {
		if one.Verb == verb {
			names = append(names, one.Name)
		}
	}
	return names
}

// An apply may be an install or an upgrade, and reads the manifests' objects to find out; a
// rollback and a deletion have hooks of their own. Each apply is a sync of Argo CD.
func TestHookPermissions(t *testing.T) {
	helm := &apply.Stream{Resources: []ordering.Resource{resource("ConfigMap", "main", nil)}}
	for _, event := range []string{"post-delete", "post-rollback", "pre-install", "pre-upgrade", "test"} {
		helm.Hooks = append(helm.Hooks, resource("ConfigMap", event, map[string]string{hook.EventAnnotation: event}))
	}
	argo := &apply.Stream{Resources: helm.Resources}
	for name, event := range map[string]string{"fail": "SyncFail", "post-delete": "PostDelete", "sync": "Sync"} {
		argo.Hooks = append(argo.Hooks, resource("ConfigMap", name, map[string]string{"argocd.argoproj.io/hook": event}))
	}
	tests := &apply.Stream{Resources: helm.Resources, Hooks: helm.Hooks[4:]}
	for name, c := range map[string]struct {
		stream   *apply.Stream
		rollback bool
		more     []hook.Event
		hooks    []string
		operates bool // reads the object of the manifest
	}{
		"apply":         {helm, false, nil, []string{"pre-install", "pre-upgrade"}, true},
		"deletion":      {helm, false, []hook.Event{hook.PreDelete, hook.PostDelete}, []string{"post-delete", "pre-install", "pre-upgrade"}, true},
		"rollback":      {helm, true, nil, []string{"post-rollback"}, false},
		"tests only":    {tests, false, nil, nil, false},
		"sync":          {argo, false, nil, []string{"fail", "sync"}, false},
		"sync back":     {argo, true, nil, []string{"fail", "sync"}, false},
		"sync deletion": {argo, false, []hook.Event{hook.PreDelete, hook.PostDelete}, []string{"fail", "post-delete", "sync"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			source := ordering.OrderSourceAuto
			if c.stream == argo {
				source = ordering.OrderSourceArgoCD
			}
			p := HookPermissions(c.stream, source, kube.OwnKinds, false, c.rollback, c.more...)
			require.Equal(t, c.hooks, named(p, "create"))
			if c.operates {
				require.Contains(t, named(p, "get"), "main")
			} else {
				require.NotContains(t, named(p, "get"), "main")
			}
		})
	}
}

// An undo deletes created objects, and lists before the run which objects exist: the lists are
// required then. Other optional permissions stay optional.
func TestCreationPermissions(t *testing.T) {
	objects := map[object.ID]*unstructured.Unstructured{}
	for _, r := range []ordering.Resource{resource("Secret", "a", nil), {Meta: object.Meta{ID: object.ID{Kind: "Namespace", Name: "new"}}}} {
		objects[r.ID] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": r.Kind}}
	}
	p := CreationPermissions(objects, kube.OwnKinds)
	require.Equal(t, permissions("delete namespaces.core new", "get namespaces.core new", "list namespaces.core",
		"delete secrets.core a in shop", "get secrets.core a in shop", "list secrets.core in shop"), p.Required)
	require.Contains(t, p.Optional, permissions("watch secrets.core in shop")[0])
}

// The subjects that the Roles are bound to.
func TestSubject(t *testing.T) {
	all, err := Subject{ServiceAccount: "ci/123", User: "a: b", Group: "c"}.YAML()
	require.NoError(t, err)
	require.Equal(t, `{kind: ServiceAccount, namespace: ci, name: "123"}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: "a: b"}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: c}`, all)
	for _, account := range []string{"deployer", "/deployer", "ci/"} {
		_, err := Subject{ServiceAccount: account}.YAML()
		require.ErrorAs(t, err, new(*usage.Error), account)
	}
}
