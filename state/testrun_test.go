package state

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/memcluster"
)

// promise returns the kinds and namespaces of the set shop.
func promise(t *testing.T, s *memcluster.Store) string {
	t.Helper()
	parent, err := s.Get(t.Context(), kube.CoreKind("secrets"), "shop", "shop")
	require.NoError(t, err)
	annotations := parent.GetAnnotations()
	return strings.TrimSpace(annotations[applyset.GroupKindsAnnotation] + " " + annotations[applyset.NamespacesAnnotation])
}

// theLease is the key of its Lease in a store.
const theLease = "leases.coordination.k8s.io/shop/ordapply.secret.shop"

// shopSet is the set of the tests.
var shopSet = object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}

// runOf returns a run that applies objects, each as "Kind.group
// namespace/name", and prunes.
func runOf(t *testing.T, cluster *memcluster.Store, objects ...string) Run {
	t.Helper()
	var inputs []apply.Input
	for _, text := range objects {
		kind, where, _ := strings.Cut(text, " ")
		gk := schema.ParseGroupKind(kind)
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gk.WithVersion("v1"))
		namespace, name, _ := strings.Cut(where, "/")
		obj.SetNamespace(namespace)
		obj.SetName(name)
		inputs = append(inputs, apply.Input{Object: obj, Source: "test"})
	}
	r := runFor(t, inputs)
	r.Cluster, r.Applier.Cluster, r.Remover.Cluster = cluster, cluster, cluster
	return r
}

// runFor returns such a run without a cluster.
func runFor(t *testing.T, inputs []apply.Input) Run {
	t.Helper()
	parsed, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop"})
	require.NoError(t, err)
	plan, err := planner.Build(parsed.Resources, ordering.Options{})
	require.NoError(t, err)
	return Run{
		SetRef: SetRef{Parent: shopSet, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}},
		Plan:   plan, Stream: parsed, Prune: true,
	}
}
