package request

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// findersAtOnce bounds the concurrent requests of Find.
const findersAtOnce = 32

// FindMetadata returns the metadata of the resources that exist in the cluster. It
// sends one LIST for each kind and namespace, or one GET for each resource
// where lists are not allowed. The error joins one for each kind that cannot be
// read, or is not served and may have objects; the map holds the others.
func FindMetadata(ctx context.Context, cluster kube.Cluster, resources []ordering.Resource) (map[object.ID]*unstructured.Unstructured, error) {
	members := map[loop.KindNamespace][]ordering.Resource{}
	for _, r := range resources {
		members[loop.KindNamespaceOf(r.ID)] = append(members[loop.KindNamespaceOf(r.ID)], r)
	}
	found := make(map[object.ID]*unstructured.Unstructured, len(resources))
	var errs []error
	var mu sync.Mutex
	groups := slices.Collect(maps.Values(members))
	activity.Each(len(groups), findersAtOnce, func(i int) {
		objects, err := findAll(ctx, cluster, groups[i])
		mu.Lock()
		defer mu.Unlock()
		for _, obj := range objects {
			found[kube.Meta(obj).ID] = obj
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read the objects of kind %s: %w", groups[i][0].GroupKind(), fault.Explain(err)))
		}
	})
	return found, errors.Join(errs...)
}

// findAll finds resources of one kind in one namespace. A kind that is not
// served counts as without objects only when that is certain, see ReadServed.
func findAll(ctx context.Context, cluster kube.Cluster, members []ordering.Resource) (found []*unstructured.Unstructured, err error) {
	first := members[0]
	gk := schema.GroupKind{Group: first.Group, Kind: first.Kind}
	err = kube.ReadServed(ctx, cluster, gk, func(gvk schema.GroupVersionKind, kind kube.Kind) (err error) {
		if kind.Namespaced != (first.Namespace != "") {
			return nil // it had another scope when it was recorded
		}
		found, err = findServed(ctx, cluster, gvk, kind, members)
		return err
	}, first.Version)
	return found, err
}

// findServed finds resources of one kind in one namespace, in one version.
func findServed(ctx context.Context, cluster kube.Cluster, gvk schema.GroupVersionKind, kind kube.Kind, members []ordering.Resource) ([]*unstructured.Unstructured, error) {
	query := kube.Query{Metadata: true}
	if len(members) == 1 {
		query.Fields = "metadata.name=" + members[0].Name
	}
	objects, err := cluster.List(ctx, kind, members[0].Namespace, query)
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		objects, err = findEach(ctx, cluster, kind, members)
	}
	if err != nil && !kube.IsGone(err) {
		return nil, err
	}
	wanted := make(map[string]bool, len(members))
	for _, m := range members {
		wanted[m.Name] = true
	}
	var found []*unstructured.Unstructured
	for _, obj := range objects {
		if wanted[obj.GetName()] {
			obj.SetGroupVersionKind(gvk)
			found = append(found, obj)
		}
	}
	return found, nil
}

// findEach sends one GET for each resource.
func findEach(ctx context.Context, cluster kube.Cluster, kind kube.Kind, members []ordering.Resource) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, m := range members {
		obj, err := cluster.Get(ctx, kind, m.Namespace, m.Name)
		switch {
		case err == nil:
			found = append(found, obj)
		case !kube.IsGone(err):
			return nil, err
		}
	}
	return found, nil
}
