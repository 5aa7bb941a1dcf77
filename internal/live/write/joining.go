package write

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// Joining holds the parts of the one request that makes a live object a member of a run's set.
type Joining struct {
	Live    *unstructured.Unstructured  // its identity, version and labels
	Entries []metav1.ManagedFieldsEntry // managedFields after the takeover
}

// Joining returns how a live object joins the run's set, and the object after the takeover; false
// unless it is in no set, and only fields of this program's own runs are taken over. It must also be
// proven that the manifest would change nothing else.
//
// The API server gives a label that an update adds to the entry of that update, even if the
// update brings managedFields that say otherwise. The manager of the set owns it also there: no
// other set can take it, and an apply by the same manager is in no conflict about it.
func (o Owner) Joining(live *unstructured.Unstructured, left Left) (joining Joining, after *unstructured.Unstructured, ok bool) {
	if o.Set == "" || applyset.Owner(live) != "" || live.GetDeletionTimestamp() != nil || !ShowsTakeover(live) {
		return Joining{}, nil, false
	}
	migration := o.Takeover(live).Of(live, left)
	if len(migration.Managers) > 0 || !migration.Changes {
		return Joining{}, nil, false
	}
	identity := Identity(live)
	identity.SetResourceVersion(live.GetResourceVersion())
	identity.SetLabels(live.GetLabels())
	return Joining{identity, migration.Entries}, withManagedFields(live, migration.Entries), true
}

// withManagedFields returns an object with other managedFields. It shares everything else.
func withManagedFields(live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(live.Object)}
	metadata, _ := live.Object["metadata"].(map[string]any)
	out.Object["metadata"] = maps.Clone(metadata)
	out.SetManagedFields(entries)
	return out
}
