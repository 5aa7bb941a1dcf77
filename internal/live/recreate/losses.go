package recreate

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// losses lists objects that the deletion of a candidate would delete and the run would not
// apply again: the contents of a Namespace or CustomResourceDefinition, and garbage-collected
// dependents, also of custom resources that are applied again.
func (c Check) losses(ctx context.Context, o Candidate) ([]object.ID, error) {
	id := kube.Meta(o.Manifest).ID
	owners := []*unstructured.Unstructured{o.Live}
	var lost []object.ID
	if id.IsCRD() || id.IsNamespace() {
		isAppliedAgain := func(live *unstructured.Unstructured) bool {
			again := c.isInStream(kube.Meta(live).ID) && c.Owner.Applied(live) && !c.hasForeignFields(live) && applyset.Protection(live, "") == ""
			if again {
				owners = append(owners, live)
			}
			return again
		}
		var err error
		if lost, err = (diagnose.Search{Cluster: c.Cluster, Ignored: isAppliedAgain}).OnlyDeletedWith(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, owner := range owners {
		garbage, err := c.garbage(ctx, owner)
		if err != nil {
			return nil, err
		}
		lost = append(lost, garbage...)
	}
	slices.SortFunc(lost, object.Compare)
	return slices.Compact(lost), nil
}

// hasForeignFields reports whether other managers own fields of an object beside its metadata
// and status: the run cannot make them again.
func (c Check) hasForeignFields(live *unstructured.Unstructured) bool {
	return c.foreignField(live) != ""
}

// foreignField returns a field of an object, beside its metadata and status, that only another
// manager owns; "" if there is none. The scale subresource does not count: an autoscaler scales
// the new one.
func (c Check) foreignField(live *unstructured.Unstructured) string {
	scaled := write.OwnedBy(live, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	for path := range c.Owner.ForeignFields(live).Difference(c.Owner.OwnFields(live).Union(scaled)).Leaves().All() {
		if name := path[0].FieldName; name != nil && *name != "metadata" && *name != "status" {
			return fields.Text(path)
		}
	}
	return ""
}

// isInStream reports whether the run applies an object, or one that differs only in its scope:
// the scope of a kind changes by a recreation of its definition.
func (c Check) isInStream(live object.ID) bool {
	return slices.ContainsFunc(c.Manifests, func(m *unstructured.Unstructured) bool {
		id := kube.Meta(m).ID
		if id.Namespace == "" || live.Namespace == "" {
			id.Namespace = live.Namespace
		}
		return id == live
	})
}

// garbage lists the dependents of an object, by ownerReferences, that no controller makes anew:
// objects of the stream, volumes, and objects that others made depend on it. It looks where
// these are likely: at the kinds of the stream, claims, Secrets and ConfigMaps. It skips
// Secrets and ConfigMaps that may not be listed.
func (c Check) garbage(ctx context.Context, live *unstructured.Unstructured) ([]object.ID, error) {
	var lost []object.ID
	for _, place := range c.places(live) {
		kind, served := kube.KindsOf(c.Cluster)(place.gvk)
		if !served || !kind.Stored {
			continue
		}
		found, err := c.Cluster.List(ctx, kind, place.namespace, kube.Query{Metadata: true})
		switch {
		case apierrors.IsForbidden(err) && place.optional, fault.IsNotServed(err):
			continue
		case err != nil:
			return nil, err
		}
		for _, obj := range found {
			obj.SetGroupVersionKind(place.gvk)
			id := kube.Meta(obj).ID
			if !isIrreplaceable(obj) && !c.isInStream(id) {
				continue
			}
			if goes, err := c.goesWith(ctx, live, obj, maxOwnerDepth); err != nil {
				return nil, err
			} else if goes {
				lost = append(lost, id)
			}
		}
	}
	return lost, nil
}

// maxOwnerDepth bounds the levels of owners that are followed. Operators make a StatefulSet
// of a custom resource, which makes the claims.
const maxOwnerDepth = 3

// goesWith reports whether the garbage collector deletes an object with another: all its
// owners go. Only custom resources are looked for above the direct owners: objects that
// built-in controllers make for built-in kinds have no volumes that outlive a Pod.
func (c Check) goesWith(ctx context.Context, top, obj *unstructured.Unstructured, up int) (bool, error) {
	owners := obj.GetOwnerReferences()
	for _, o := range owners {
		if o.UID == top.GetUID() {
			continue
		}
		if up == 0 || object.IsNative(top.GroupVersionKind().Group) {
			return false, nil
		}
		owner, err := c.owner(ctx, obj.GetNamespace(), o)
		if err != nil || owner == nil {
			return false, err
		}
		if goes, err := c.goesWith(ctx, top, owner, up-1); err != nil || !goes {
			return false, err
		}
	}
	return len(owners) > 0, nil
}

// owner reads the owner that an object in a namespace names; nil if there is none, or none
// whose kind is known.
func (c Check) owner(ctx context.Context, namespace string, o metav1.OwnerReference) (*unstructured.Unstructured, error) {
	kind, served := kube.KindsOf(c.Cluster)(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if !served {
		return nil, nil
	}
	if !kind.Namespaced {
		namespace = ""
	}
	owner, err := c.Cluster.Get(ctx, kind, namespace, o.Name)
	if kube.IsGone(err) || err == nil && owner.GetUID() != o.UID {
		return nil, nil
	}
	return owner, err
}

// isIrreplaceable reports whether no controller would make a dependent anew as it is. A claim's
// volume goes with it; a Pod's is meant to.
func isIrreplaceable(obj *unstructured.Unstructured) bool {
	controller := metav1.GetControllerOf(obj)
	isClaim := obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
	return controller == nil || isClaim && controller.Kind != "Pod" || applyset.Protection(obj, "") != ""
}

// place is where dependents may be: the objects of a kind in a namespace.
type place struct {
	gvk       schema.GroupVersionKind
	namespace string // "" for a cluster-scoped kind
	optional  bool   // nothing of the stream is there: few accounts may list it
}

// places lists where dependents of an object are looked for: in its namespace, if it has one.
func (c Check) places(live *unstructured.Unstructured) []place {
	var all []place
	add := func(p place) {
		isThere := slices.ContainsFunc(all, func(q place) bool { return q.gvk == p.gvk && q.namespace == p.namespace })
		if (live.GetNamespace() == "" || live.GetNamespace() == p.namespace) && !isThere {
			all = append(all, p)
		}
	}
	manifests := append([]*unstructured.Unstructured{live}, c.Manifests...)
	for _, m := range manifests {
		add(place{m.GroupVersionKind(), m.GetNamespace(), false})
	}
	for _, m := range manifests {
		for _, kind := range []string{"PersistentVolumeClaim", "Secret", "ConfigMap"} {
			if m.GetNamespace() != "" {
				add(place{schema.GroupVersionKind{Version: "v1", Kind: kind}, m.GetNamespace(), kind != "PersistentVolumeClaim"})
			}
		}
	}
	return all
}
