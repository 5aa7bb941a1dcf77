package hooks

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
)

// find returns the object of a hook; nil when it does not exist, or cannot exist because
// nothing defines its kind. It returns a *kube.UnservedError when that is unknown.
func find(ctx context.Context, cluster kube.Cluster, hook authorhook.Hook) (found *unstructured.Unstructured, err error) {
	wanted := (&unstructured.Unstructured{Object: hook.Object}).GroupVersionKind()
	err = kube.ReadServed(ctx, cluster, wanted.GroupKind(), func(gvk schema.GroupVersionKind, kind kube.Kind) error {
		live, err := kube.WithRetry(ctx, "reading "+kind.Resource.GroupResource().String()+" "+hook.Name, func() (*unstructured.Unstructured, error) {
			return cluster.Get(ctx, kind, hook.Namespace, hook.Name)
		})
		switch {
		case kube.IsGone(err):
			return nil
		case err == nil:
			live.SetGroupVersionKind(gvk)
			found = live
		}
		return err
	}, wanted.Version)
	if err != nil {
		return nil, fmt.Errorf("read the live object: %w", err)
	}
	return found, nil
}

// mayReplace reports whether a hook may replace a live object. That includes
// members of the set: an earlier stream had them as resources. It also includes leftovers of
// Argo CD's hooks, which Argo CD replaces in its next sync.
func (r Runner) mayReplace(hook authorhook.Hook, live *unstructured.Unstructured) bool {
	if applyset.Record(live) != "" || guard(hook, live) != "" || r.isOfAnotherSet(live) {
		return false
	}
	if hook.Argo && authorhook.IsArgoHook(live.GetAnnotations()) && live.GetAnnotations()[OwnerAnnotation] == "" && applyset.Owner(live) == "" {
		return true
	}
	return r.Adopt || r.IsOwn(live) || live.GetAnnotations()[OwnerAnnotation] == NoSet || r.Owner != "" && applyset.Owner(live) == r.Owner
}

// guard returns the annotation that protects a live object from being replaced by a hook, or
// "". An annotation that the hook itself has protects nothing: Helm replaces its hooks despite
// it.
func guard(hook authorhook.Hook, live *unstructured.Unstructured) string {
	protection := applyset.Protection(live, applyset.Delete)
	if protection == applyset.Protection(&unstructured.Unstructured{Object: hook.Object}, applyset.Delete) {
		return ""
	}
	return protection
}

// isOfAnotherSet reports whether a live object says that it is a member of another set. To
// take members over is not to delete them.
func (r Runner) isOfAnotherSet(live *unstructured.Unstructured) bool {
	set := applyset.Owner(live)
	return set != "" && set != r.Owner && !r.ReplaceMembers
}

// foreign returns the error for a live object that a hook may not replace, with a remedy.
func (r Runner) foreign(hook authorhook.Hook, live *unstructured.Unstructured) error {
	const remedy = "give the hook another name, or replace the object with --adopt=any"
	if protection := guard(hook, live); protection != "" {
		return fmt.Errorf("an object of this name exists, and its annotation %s protects it: remove the annotation, or give the hook another name", protection)
	}
	if r.isOfAnotherSet(live) {
		return fmt.Errorf("an object of this name exists and is a member of another apply set (%s): %s", applyset.Owner(live), remedy)
	}
	if record := applyset.Record(live); record != "" {
		return fmt.Errorf("an object of this name exists and is %s: give the hook another name", record)
	}
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

// isSpared reports whether a live object stays when its owner is deleted: it is protected, or
// has become a member of another set.
func (r Runner) isSpared(live *unstructured.Unstructured) bool {
	set := applyset.Owner(live)
	return applyset.Protection(live, applyset.Delete) != "" || set != "" && set != r.Owner
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
