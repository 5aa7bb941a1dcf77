package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
)

// Claim implements Cluster.
func (k *Kubernetes) Claim(ctx context.Context, kind Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error) {
	entries, err := claimed(live.GetManagedFields(), fields, manager)
	if err != nil {
		return nil, err
	}
	return k.patchJSON(ctx, kind, live, manager, patchOp{"op": "replace", "path": "/metadata/managedFields", "value": entries}, sameVersion(live))
}

// claimed returns managedFields in which manager owns some fields and
// everything below them, and no entry of an update does.
func claimed(entries []metav1.ManagedFieldsEntry, fields *fieldpath.Set, manager string) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		set := applyset.FieldsOf(entry)
		switch {
		case entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "":
			set = set.Union(fields)
		case entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "":
			if set = set.RecursiveDifference(fields); set.Empty() {
				continue
			}
		}
		text, err := set.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("write managedFields: %w", err)
		}
		entry.FieldsV1 = metav1.NewFieldsV1(string(text))
		out = append(out, entry)
	}
	return out, nil
}
