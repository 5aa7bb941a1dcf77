package applyset

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owner returns the ID of the set of which a live object says it is a member, by
// PartOfLabel, or "". Copies of a member say so too; see Parent.HasMember.
func Owner(live *unstructured.Unstructured) string { return live.GetLabels()[PartOfLabel] }

// Protection returns the annotation, as "key: value", that protects an object
// from pruning and deletion, or "": ordapply.dev/lifecycle: keep, or those with
// which Config Connector and kpt, cli-utils and Helm say the same.
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

// HasMember reports whether a live object is a member of the set: it has the set's
// label, and one of the set's field managers owns the label. A copy of a
// member, made by a user or a controller, has another field manager.
func (p Parent) HasMember(live *unstructured.Unstructured) bool {
	return Owner(live) == p.SetID() && slices.ContainsFunc(MembershipManagers(live), p.IsManager)
}

// IsManager reports whether a field manager belongs to the set: Manager returns it
// for some base name.
func (p Parent) IsManager(manager string) bool { return IsManager(manager, p.SetID()) }

// IsManager is Parent.IsManager for the ID of a set; false if that is "".
func IsManager(manager, set string) bool {
	return set != "" && strings.HasSuffix(manager, managerSuffix(set))
}

// MembershipManagers returns the field managers that own an object's membership label
// through an apply, including kubectl's client-side apply, which appears as an
// update together with last-applied. It returns none for an object to which a
// controller copied the label, as the EndpointSlice controller copies a
// Service's.
func MembershipManagers(live *unstructured.Unstructured) []string {
	return labelManagers(live, func(entry metav1.ManagedFieldsEntry, fields map[string]any) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSideApply ||
			owns(fields, "f:annotations", "f:"+lastAppliedAnnotation)
	})
}

// LabelManagers returns all field managers that own an object's membership label;
// none if its managedFields were cleared.
func LabelManagers(live *unstructured.Unstructured) []string {
	return labelManagers(live, func(metav1.ManagedFieldsEntry, map[string]any) bool { return true })
}

func labelManagers(live *unstructured.Unstructured, counts func(metav1.ManagedFieldsEntry, map[string]any) bool) []string {
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

// owns reports whether managedFields contain a path in metadata.
func owns(fields map[string]any, place ...string) bool {
	_, has, _ := unstructured.NestedFieldNoCopy(fields, append([]string{"f:metadata"}, place...)...)
	return has
}

// kubectl's client-side apply: its default field manager, and the annotation
// that it always writes.
const (
	clientSideApply       = "kubectl-client-side-apply"
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)
