package status

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// learnColumns reads the printer columns of kinds without a health rule, with
// one request for each kind. If that fails, their status is read without
// columns.
func (o *Observer) learnColumns(ctx context.Context, live map[object.ID]*unstructured.Unstructured) {
	definitions, served := o.Target.Cluster.Kind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if !served {
		return
	}
	for _, obj := range live {
		gvk := obj.GroupVersionKind()
		kind, _ := o.Target.Cluster.Kind(gvk)
		if o.columnsRead[gvk] || !o.Assessor.MissesDefinition(obj, o.Assessor.Assess(obj), kind.HasStatus) {
			continue
		}
		if o.columnsRead == nil {
			o.columnsRead = map[schema.GroupVersionKind]bool{}
		}
		o.columnsRead[gvk] = true
		if crd, err := o.Target.Cluster.Get(ctx, definitions, "", kind.Resource.GroupResource().String()); err == nil {
			o.Assessor.Learn(crd)
		}
	}
}
