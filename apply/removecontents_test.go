package apply_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// full is a cluster that serves the kinds of a namespace's contents.
type full struct{ *mortal }

func (c full) NamespacedKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, kind := range []string{"ConfigMap", "Endpoints", "Pod", "Secret", "ServiceAccount"} {
		kinds = append(kinds, schema.GroupVersionKind{Version: "v1", Kind: kind})
	}
	return append(kinds, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
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
		how   func(*mortal, *unstructured.Unstructured)
		keeps bool
	}{
		"somebody's":                {id: in("ConfigMap", "theirs"), keeps: true},
		"a Pod that nobody owns":    {id: in("Pod", "alone"), keeps: true},
		"a record of the set":       {id: in("Secret", "record")},
		"the default account":       {id: in("ServiceAccount", "default")},
		"another account":           {id: in("ServiceAccount", "builder"), keeps: true},
		"the cluster's certificate": {id: in("ConfigMap", "kube-root-ca.crt")},
		"Endpoints":                 {id: in("Endpoints", "web")},
		"going already": {id: in("ConfigMap", "going"), how: func(_ *mortal, obj *unstructured.Unstructured) {
			now := metav1.Now()
			obj.SetDeletionTimestamp(&now)
		}},
		"a token": {id: in("Secret", "builder-token-x"), how: func(_ *mortal, obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"kubernetes.io/service-account.name": "builder"})
		}},
		"of what goes": {id: in("Pod", "web-1"), how: func(c *mortal, obj *unstructured.Unstructured) {
			ownedBy("Deployment", "web", c.live[deployment].GetUID())(obj)
		}},
		"of what is gone": {id: in("Pod", "orphan"), how: func(_ *mortal, obj *unstructured.Unstructured) { ownedBy("Pod", "gone", "no more")(obj) }},
		"of what another took the name of": {id: in("Pod", "late"), how: func(c *mortal, obj *unstructured.Unstructured) {
			c.create(object.ID{Kind: "Thing", Namespace: "shop", Name: "elsewhere"})
			ownedBy("Thing", "elsewhere", "an older one")(obj)
		}},
		"of what stays": {keeps: true, id: in("Pod", "theirs"), how: func(c *mortal, obj *unstructured.Unstructured) {
			thing := object.ID{Kind: "Thing", Namespace: "shop", Name: "elsewhere"}
			c.create(thing)
			ownedBy("Thing", "elsewhere", c.live[thing].GetUID())(obj)
		}},
		"of what is of what goes": {id: in("Pod", "grandchild"), how: func(c *mortal, obj *unstructured.Unstructured) {
			thing := object.ID{Kind: "Thing", Namespace: "shop", Name: "child"}
			c.create(thing)
			c.change(thing, ownedBy("Deployment", "web", c.live[deployment].GetUID()))
			ownedBy("Thing", "child", c.live[thing].GetUID())(obj)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := full{newMortal(namespace, deployment)}
				order, found := inWaves(wave(deployment), wave(namespace)), cluster.found()
				cluster.create(tc.id)
				if tc.how != nil {
					cluster.change(tc.id, func(obj *unstructured.Unstructured) { tc.how(cluster.mortal, obj) })
				}
				remover := apply.Remover{Cluster: cluster, Ignore: func(obj *unstructured.Unstructured) bool { return obj.GetName() == "record" }}
				summary, err := remover.Run(t.Context(), order, found)
				require.NoError(t, err)
				last := summary.Results[1]
				if !tc.keeps {
					require.Equal(t, apply.Deleted, last.State, last.Detail)
					return
				}
				require.Equal(t, apply.Kept, last.State)
				require.Equal(t, "it contains objects that are not part of this deletion: "+tc.id.String()+"; --prune-namespaces deletes it with all its contents", last.Detail)
				remover.PruneNamespaces = true
				summary, err = remover.Run(t.Context(), order, cluster.found())
				require.NoError(t, err)
				require.Equal(t, apply.Deleted, summary.Results[1].State)
			})
		})
	}
}

// Objects that cannot be listed may exist.
func TestWhatMayNotBeReadKeepsANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		cluster := full{newMortal(namespace)}
		cluster.unlistable = func(kind string) error {
			if kind == "Pod" {
				return forbidden(kind)
			}
			return nil
		}
		summary, err := apply.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), cluster.found())
		require.NoError(t, err)
		require.Equal(t, apply.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "its contents cannot be read: list Pod: ")
	})
}
