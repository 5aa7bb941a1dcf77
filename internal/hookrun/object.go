package hookrun

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/kube"
)

// find returns the object of a hook; nil when it does not exist, or its kind
// is not served.
func find(ctx context.Context, cluster kube.Cluster, hook hooks.Hook) (*unstructured.Unstructured, error) {
	gvk := (&unstructured.Unstructured{Object: hook.Object}).GroupVersionKind()
	kind, served := cluster.Kind(gvk)
	if !served {
		return nil, nil
	}
	live, err := kube.WithRetry(ctx, "reading "+kind.Resource.GroupResource().String()+" "+hook.Name, func() (*unstructured.Unstructured, error) {
		return cluster.Get(ctx, kind, hook.Namespace, hook.Name)
	})
	switch {
	case apierrors.IsNotFound(err), kube.IsGone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the live object: %w", err)
	}
	live.SetGroupVersionKind(gvk)
	return live, nil
}

// mayReplace reports whether a hook may replace a live object. That includes
// members of the set: an earlier stream had them as resources.
func (r Runner) mayReplace(live *unstructured.Unstructured) bool {
	return r.Adopt || r.IsOwn(live) || live.GetAnnotations()[OwnerAnnotation] == NoSet || r.Owner != "" && applyset.Owner(live) == r.Owner
}

// foreign returns the error for a live object that a hook may not replace, with a remedy.
func (r Runner) foreign(live *unstructured.Unstructured) error {
	const remedy = "give the hook another name, or replace the object with --adopt=any"
	if other := live.GetAnnotations()[OwnerAnnotation]; other != "" {
		return fmt.Errorf("an object of this name exists and is a hook of another owner (annotation %s: %s): %s", OwnerAnnotation, other, remedy)
	}
	return fmt.Errorf(
		"an object of this name exists that no run of this %s created (annotation %s: %s is missing): delete it, %s",
		r.subject(), OwnerAnnotation, r.owner(), remedy)
}

// IsOwn reports whether a run of the same owner made a live object.
func (r Runner) IsOwn(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[OwnerAnnotation] == r.owner()
}

func (r Runner) owner() string {
	return cmp.Or(r.Owner, NoSet)
}

// subject names the owner of the hooks in messages.
func (r Runner) subject() string {
	if r.Owner == "" {
		return "stream"
	}
	return "apply set"
}
