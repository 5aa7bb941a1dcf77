package remove_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// full returns a cluster that serves the kinds of a namespace's contents.
func full(ids ...object.ID) *memcluster.Scripted {
	cluster := memcluster.Holding(ids...)
	for _, kind := range []string{"ConfigMap", "Endpoints", "Pod", "Secret", "ServiceAccount"} {
		cluster.Namespaced = append(cluster.Namespaced, schema.GroupVersionKind{Version: "v1", Kind: kind})
	}
	cluster.Namespaced = append(cluster.Namespaced, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	return cluster
}

func ownedBy(kind, name string, uid types.UID) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: uid}})
	}
}

// A Namespace is kept only because of objects that would be deleted with it
// alone.
func TestWhatKeepsANamespace(t *testing.T) {
	namespace := object.ID{Kind: "Namespace", Name: "shop"}
	deployment := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	in := func(kind, name string) object.ID { return object.ID{Kind: kind, Namespace: "shop", Name: name} }
	cases := map[string]struct {
		id    object.ID
		how   func(*memcluster.Scripted, *unstructured.Unstructured)
		keeps bool
	}{
		"of another client":         {id: in("ConfigMap", "theirs"), keeps: true},
		"a Pod without an owner":    {id: in("Pod", "alone"), keeps: true},
		"a record of the set":       {id: in("Secret", "record")},
		"the default account":       {id: in("ServiceAccount", "default")},
		"another account":           {id: in("ServiceAccount", "builder"), keeps: true},
		"the cluster's certificate": {id: in("ConfigMap", "kube-root-ca.crt")},
		"Endpoints":                 {id: in("Endpoints", "web")},
		"going already": {id: in("ConfigMap", "going"), how: func(_ *memcluster.Scripted, obj *unstructured.Unstructured) {
			now := metav1.Now()
			obj.SetDeletionTimestamp(&now)
		}},
		"a token": {id: in("Secret", "builder-token-x"), how: func(_ *memcluster.Scripted, obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"kubernetes.io/service-account.name": "builder"})
		}},
		"of what goes": {id: in("Pod", "web-1"), how: func(c *memcluster.Scripted, obj *unstructured.Unstructured) {
			ownedBy("Deployment", "web", c.Live(deployment).GetUID())(obj)
		}},
		"of what is gone": {id: in("Pod", "orphan"), how: func(_ *memcluster.Scripted, obj *unstructured.Unstructured) { ownedBy("Pod", "gone", "no more")(obj) }},
		"of what another took the name of": {id: in("Pod", "late"), how: func(c *memcluster.Scripted, obj *unstructured.Unstructured) {
			c.Make(object.ID{Kind: "Thing", Namespace: "shop", Name: "elsewhere"})
			ownedBy("Thing", "elsewhere", "an older one")(obj)
		}},
		"of what stays": {keeps: true, id: in("Pod", "theirs"), how: func(c *memcluster.Scripted, obj *unstructured.Unstructured) {
			thing := object.ID{Kind: "Thing", Namespace: "shop", Name: "elsewhere"}
			c.Make(thing)
			ownedBy("Thing", "elsewhere", c.Live(thing).GetUID())(obj)
		}},
		"of what is of what goes": {id: in("Pod", "grandchild"), how: func(c *memcluster.Scripted, obj *unstructured.Unstructured) {
			thing := object.ID{Kind: "Thing", Namespace: "shop", Name: "child"}
			c.Make(thing)
			c.Change(thing, ownedBy("Deployment", "web", c.Live(deployment).GetUID()))
			ownedBy("Thing", "child", c.Live(thing).GetUID())(obj)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := full(namespace, deployment)
				order, found := inWaves(wave(deployment), wave(namespace)), cluster.Found()
				cluster.Make(tc.id)
				if tc.how != nil {
					cluster.Change(tc.id, func(obj *unstructured.Unstructured) { tc.how(cluster, obj) })
				}
				remover := remove.Remover{Cluster: cluster, Ignore: func(obj *unstructured.Unstructured) bool { return obj.GetName() == "record" }}
				summary, err := remover.Run(t.Context(), order, found)
				require.NoError(t, err)
				last := summary.Results[1]
				if !tc.keeps {
					require.Equal(t, event.Deleted, last.State, last.Detail)
					return
				}
				require.Equal(t, event.Kept, last.State)
				require.Equal(t, "it contains objects that are not part of this deletion: "+tc.id.String()+"; --prune-namespaces deletes it with all its contents", last.Detail)
				remover.PruneNamespaces = true
				summary, err = remover.Run(t.Context(), order, cluster.Found())
				require.NoError(t, err)
				require.Equal(t, event.Deleted, summary.Results[1].State)
			})
		})
	}
}

// Objects that cannot be listed may exist.
func TestWhatMayNotBeReadKeepsANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		cluster := full(namespace)
		forbids := memcluster.Forbids("list")
		cluster.Refuse = func(verb string, kind kube.Kind, namespace, name string) error {
			if kind.Resource.Resource == "pods" {
				return forbids(verb, kind, namespace, name)
			}
			return nil
		}
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, event.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "its contents cannot be read: list Pod: ")
	})
}
