package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// findersAtOnce bounds the requests of Find that are out together.
const findersAtOnce = 32

// Find reads the metadata of those of the resources that the cluster has, with
// one LIST for each kind and namespace, or one by one where lists are not
// allowed. A kind that is not served has no objects.
func Find(ctx context.Context, cluster Cluster, resources []ordering.Resource) (map[object.ID]*unstructured.Unstructured, error) {
	members := map[place][]ordering.Resource{}
	for _, r := range resources {
		members[placeOf(r.ID)] = append(members[placeOf(r.ID)], r)
	}
	found := make(map[object.ID]*unstructured.Unstructured, len(resources))
	var errs []error
	var mu sync.Mutex
	var finding sync.WaitGroup
	turns := make(chan struct{}, findersAtOnce)
	for _, m := range members {
		finding.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			objects, err := findAll(ctx, cluster, m)
			mu.Lock()
			defer mu.Unlock()
			for _, obj := range objects {
				found[Meta(obj).ID] = obj
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("read what there is of %s: %w", m[0].GroupKind(), explain(err)))
			}
		})
	}
	finding.Wait()
	return found, errors.Join(errs...)
}

// findAll finds resources of one kind in one namespace.
func findAll(ctx context.Context, cluster Cluster, members []ordering.Resource) ([]*unstructured.Unstructured, error) {
	gvk, kind, served := servedAs(cluster, members[0])
	switch {
	case !served:
		return nil, cluster.Unreadable(schema.GroupVersion{Group: members[0].Group, Version: members[0].Version})
	case kind.Namespaced != (members[0].Namespace != ""):
		return nil, nil // it was of another scope when it was written
	}
	query := Query{Metadata: true}
	if len(members) == 1 {
		query.Fields = "metadata.name=" + members[0].Name
	}
	objects, err := cluster.List(ctx, kind, members[0].Namespace, query)
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		objects, err = findEach(ctx, cluster, kind, members)
	}
	if err != nil && !missing(err) {
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

// findEach reads resources one by one.
func findEach(ctx context.Context, cluster Cluster, kind Kind, members []ordering.Resource) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, m := range members {
		obj, err := cluster.Get(ctx, kind, m.Namespace, m.Name)
		switch {
		case err == nil:
			found = append(found, obj)
		case !missing(err):
			return nil, err
		}
	}
	return found, nil
}

// servedAs is the version in which the cluster serves a resource's kind: its
// own, or another.
func servedAs(cluster Cluster, r ordering.Resource) (schema.GroupVersionKind, Kind, bool) {
	gk := schema.GroupKind{Group: r.Group, Kind: r.Kind}
	for _, version := range append([]string{r.Version}, cluster.Versions(gk)...) {
		gvk := gk.WithVersion(version)
		if kind, served := cluster.Kind(gvk); served {
			return gvk, kind, true
		}
	}
	return schema.GroupVersionKind{}, Kind{}, false
}
