package state

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/history"
)

// forgedKey is the object of a revision that no run has stored.
const forgedKey = keyC

// forging returns a run that may only create Secrets in the namespace of the set, whose id
// follows from its name: it stores a deployed revision with an object and hooks of its own.
func forging(t *testing.T) func(name string) *actor {
	t.Helper()
	theirs := wanting(t, keyA, forgedKey).withHooks(t, hook.PreRollback, hook.PostRollback, hook.PreDelete, hook.PostDelete)
	stored := serverSide(t, theirs).At("secrets/shop/ordapply.shop.v1")
	return func(name string) *actor {
		return &actor{name: name, sort: forges, set: shopSet, says: map[string]string{}, do: func(ctx context.Context, cluster kube.Cluster) error {
			revision := stored.DeepCopy()
			revision.SetName("ordapply.shop.v2")
			revision.SetUID("")
			revision.SetResourceVersion("")
			labels := revision.GetLabels()
			labels[history.RevisionLabel] = "2"
			revision.SetLabels(labels)
			_, err := cluster.Create(ctx, kube.CoreKind("secrets"), revision)
			if apierrors.IsAlreadyExists(err) {
				return nil // a run has taken the number
			}
			return err
		}}
	}
}

// labelling is a run that may only patch an object of another user: it gives it the label of
// the set, under the name of the set's field manager.
func labelling(name string) *actor {
	return &actor{name: name, sort: forges, set: shopSet, says: map[string]string{}, do: func(ctx context.Context, cluster kube.Cluster) error {
		parent := applyset.Parent{ID: shopSet}
		patch := &unstructured.Unstructured{}
		patch.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		patch.SetNamespace("shop")
		patch.SetName("l")
		patch.SetLabels(map[string]string{applyset.PartOfLabel: parent.SetID()})
		_, err := cluster.Apply(ctx, kube.CoreKind("configmaps"), patch, kube.PatchOptions{Manager: parent.Manager("ordapply"), Force: true})
		return err
	}}
}
