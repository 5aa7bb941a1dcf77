package applyset

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owner is the id of the set that a live object is a member of; "" for none.
func Owner(live *unstructured.Unstructured) string { return live.GetLabels()[PartOfLabel] }

// Protection is the annotation, with its value, by which an author keeps an
// object that its set no longer holds, whether it would be pruned or deleted;
// "" when nothing keeps it. Those of Config Connector and kpt, cli-utils and
// Helm mean the same as ours.
func Protection(live *unstructured.Unstructured) string {
	annotations := live.GetAnnotations()
	for _, p := range []struct{ key, value string }{
		{"ordapply.dev/lifecycle", "keep"},
		{"client.lifecycle.config.k8s.io/deletion", "detach"},
		{"cli-utils.sigs.k8s.io/on-remove", "keep"},
		{"helm.sh/resource-policy", "keep"},
	} {
		if annotations[p.key] == p.value {
			return p.key + ": " + p.value
		}
	}
	return ""
}

// Claims tells whether a live object is a member of the set: it says so, and one
// of the set's own field managers made it say so. What a person or a controller
// copied from a member was written by another.
func (p Parent) Claims(live *unstructured.Unstructured) bool {
	return Owner(live) == p.SetID() && slices.ContainsFunc(Claimants(live), p.IsManager)
}

// IsManager tells whether a field manager is one that members of the set are
// written with, whatever its base.
func (p Parent) IsManager(manager string) bool { return IsManager(manager, p.SetID()) }

// IsManager tells the same of the set with an id.
func IsManager(manager, set string) bool {
	return set != "" && strings.HasSuffix(manager, managerSuffix(set))
}

// Claimants are the field managers that made an object, by apply, a member of
// the set that it says it is of: by kubectl's client-side apply too, which shows
// as an update of what it last applied. None are those of an object that only
// carries the label: what a controller copied it to, as that of EndpointSlices
// copies a Service's.
func Claimants(live *unstructured.Unstructured) []string {
	return labellers(live, func(entry metav1.ManagedFieldsEntry, fields map[string]any) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSideApply ||
			owns(fields, "f:annotations", "f:"+lastAppliedAnnotation)
	})
}

// Labellers are all field managers that own the label by which an object says
// that it is a member. Of one whose managedFields were cleared it is nobody.
func Labellers(live *unstructured.Unstructured) []string {
	return labellers(live, func(metav1.ManagedFieldsEntry, map[string]any) bool { return true })
}

func labellers(live *unstructured.Unstructured, counts func(metav1.ManagedFieldsEntry, map[string]any) bool) []string {
	var managers []string
	for _, entry := range live.GetManagedFields() {
		var fields map[string]any
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if owns(fields, "f:labels", "f:"+PartOfLabel) && counts(entry, fields) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// owns tells whether fields of managedFields hold a place in metadata.
func owns(fields map[string]any, place ...string) bool {
	_, has, _ := unstructured.NestedFieldNoCopy(fields, append([]string{"f:metadata"}, place...)...)
	return has
}

// What tells kubectl's client-side apply: its usual field manager, and what it
// writes under any.
const (
	clientSideApply       = "kubectl-client-side-apply"
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)
