package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// get reads an object; nil if it does not exist, or its kind is not served.
func get(ctx context.Context, cluster kube.Reads, id object.ID) (found *unstructured.Unstructured, err error) {
	err = kube.ReadServed(ctx, cluster, schema.GroupKind{Group: id.Group, Kind: id.Kind}, func(gvk schema.GroupVersionKind, kind kube.Kind) error {
		if kind.Namespaced != (id.Namespace != "") {
			return nil
		}
		live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
		if kube.IsGone(err) {
			return nil
		}
		if err == nil {
			live.SetGroupVersionKind(gvk)
			found = live
		}
		return err
	})
	return found, err
}

// list lists the objects of a kind; none if the kind is not served.
func list(ctx context.Context, cluster kube.Reads, gk schema.GroupKind, namespace string, query kube.Query) (found []*unstructured.Unstructured, err error) {
	err = kube.ReadServed(ctx, cluster, gk, func(gvk schema.GroupVersionKind, kind kube.Kind) error {
		if !kind.Namespaced {
			namespace = ""
		}
		objects, err := cluster.List(ctx, kind, namespace, query)
		if kube.IsGone(err) {
			return nil
		}
		for _, obj := range objects {
			obj.SetGroupVersionKind(gvk)
		}
		found = objects
		return err
	})
	return found, err
}

// only returns the one record that was found by a name; nil if there is none. Several are an
// error: all but one are forged, and nothing shows which one is the tool's.
func only(found []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	var ids []object.ID
	for _, one := range found {
		ids = append(ids, kube.Meta(one).ID)
	}
	slices.SortFunc(ids, object.Compare)
	return nil, fmt.Errorf("there are %d of this name: %s", len(ids), strings.Join(plain.Sample(ids, 5, "and %d more", object.ID.String), ", "))
}

// scoped returns the ID of an object that its tool applied in a namespace, without the
// namespace if its kind has none.
func scoped(cluster kube.Reads, gvk schema.GroupVersionKind, namespace, name string) object.ID {
	if kind, served := cluster.Kind(gvk); served && !kind.Namespaced {
		namespace = ""
	}
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name}
}
