package applyset

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Owner returns the ID of the set of which a live object says it is a member, by
// PartOfLabel, or "". Copies of a member say so too; see Parent.HasMember.
func Owner(live *unstructured.Unstructured) string {
	owner, _ := object.Label(live.Object, PartOfLabel)
	return owner
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
// update together with last-applied, or a set's own manager with which the object
// joined the set. It returns none for an object to which a controller copied the
// label, as the EndpointSlice controller copies a Service's.
func MembershipManagers(live *unstructured.Unstructured) []string {
	return labelManagers(live, func(w Writer) bool {
		return IsManager(w.Manager, Owner(live)) || w.Operation == metav1.ManagedFieldsOperationApply || w.Manager == clientSideApply ||
			owns(w.Fields, "f:annotations", "f:"+LastAppliedAnnotation)
	})
}

// HasJoined reports whether a live object became a member of its set by an update of manager, and
// was not applied since: its fingerprint is that of an apply without the set.
func HasJoined(live *unstructured.Unstructured, manager string) bool {
	if !IsManager(manager, Owner(live)) {
		return false
	}
	by := func(op metav1.ManagedFieldsOperationType) bool {
		return slices.Contains(labelManagers(live, func(w Writer) bool { return w.Operation == op && w.Subresource == "" }), manager)
	}
	return by(metav1.ManagedFieldsOperationUpdate) && !by(metav1.ManagedFieldsOperationApply)
}

// LabelManagers returns all field managers that own an object's membership label;
// none if its managedFields were cleared.
func LabelManagers(live *unstructured.Unstructured) []string {
	return labelManagers(live, func(Writer) bool { return true })
}

func labelManagers(live *unstructured.Unstructured, counts func(Writer) bool) []string {
	var managers []string
	for w := range Writers(live) {
		if owns(w.Fields, "f:labels", "f:"+PartOfLabel) && counts(w) {
			managers = append(managers, w.Manager)
		}
	}
	return managers
}

// owns reports whether managedFields contain a path in metadata.
func owns(fields map[string]any, place ...string) bool {
	_, has, _ := unstructured.NestedFieldNoCopy(fields, append([]string{"f:metadata"}, place...)...)
	return has
}

// LastAppliedAnnotation is the annotation that kubectl's client-side apply always writes.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// clientSideApply is the default field manager of kubectl's client-side apply.
const clientSideApply = "kubectl-client-side-apply"
