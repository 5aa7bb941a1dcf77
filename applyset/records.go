package applyset

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// HistoryLabel is the label of the Secrets of a set's history; its value is the ID of the set.
const HistoryLabel = "ordapply.dev/applyset"

// Record describes the part of an apply set that an object, live or in a manifest, is: the
// parent, a revision in the history, or the Lease. It returns "" for any other object. A set
// keeps such objects for itself: as a member of another set they would be pruned with it.
func Record(obj *unstructured.Unstructured) string {
	kind := obj.GroupVersionKind().GroupKind()
	id, _ := object.Label(obj.Object, IDLabel)
	set, _ := object.Label(obj.Object, HistoryLabel)
	switch {
	case id != "":
		return "the parent of an apply set (label " + IDLabel + ")"
	case kind.Group == "" && kind.Kind == "Secret" && set != "":
		return "a revision in the history of an apply set (label " + HistoryLabel + ")"
	case kind.Group == "coordination.k8s.io" && kind.Kind == "Lease" && strings.HasPrefix(obj.GetName(), LeasePrefix):
		return "the lock of an apply set"
	}
	return ""
}

// LeasePrefix begins the names of the Leases of apply sets.
const LeasePrefix = "ordapply."
