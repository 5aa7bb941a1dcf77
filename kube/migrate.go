package kube

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
)

// Migrate implements Cluster. The PATCH has the resourceVersion of live as
// precondition, so it fails with a conflict when another manager wrote the
// object.
func (k *Kubernetes) Migrate(ctx context.Context, kind Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error {
	ctx, done := startActivity(ctx, "taking over the fields of", kind, live.GetNamespace(), live.GetName())
	defer done()
	if !migration.Changes {
		return nil
	}
	return k.SetManagedFields(ctx, kind, live, migration.Entries, manager)
}

// InheritFields migrates the fields that predecessors own by apply to manager. That
// includes kubectl's client-side apply, under any field manager that is one
// of the claimants, which made the object a member.
func InheritFields(live *unstructured.Unstructured, predecessors, claimants []string, manager string) applyset.OwnershipMigration {
	return applyset.MigrateOwnership(live, manager, func(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) *fieldpath.Set {
		if IsPredecessor(entry, predecessors, claimants, manager) {
			return fields
		}
		return nil
	})
}

// IsPredecessor reports whether InheritFields migrates the fields of an entry.
func IsPredecessor(entry metav1.ManagedFieldsEntry, predecessors, claimants []string, manager string) bool {
	switch {
	case entry.Manager == manager:
		return false
	case entry.Operation == metav1.ManagedFieldsOperationUpdate:
		return ClientSideManagers().Has(entry.Manager) || slices.Contains(predecessors, entry.Manager) && slices.Contains(claimants, entry.Manager)
	}
	return slices.Contains(predecessors, entry.Manager)
}

// ClientSideManagers returns the field managers of kubectl's client-side
// apply, with the API server's placeholder for fields from before the first
// apply.
func ClientSideManagers() sets.Set[string] {
	return sets.New("kubectl-client-side-apply", applyset.BeforeFirstApply)
}
