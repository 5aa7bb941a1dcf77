package applyset

import (
	"encoding/json"

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

// Claimants are the field managers that made an object, by apply, a member of
// the set that it says it is of; none for one that only carries the label: what
// a controller copied it to, as that of EndpointSlices copies a Service's.
func Claimants(live *unstructured.Unstructured) []string {
	var managers []string
	for _, entry := range live.GetManagedFields() {
		applied := entry.Operation == metav1.ManagedFieldsOperationApply || entry.Manager == clientSideApply
		if !applied || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, owns, _ := unstructured.NestedFieldNoCopy(fields, "f:metadata", "f:labels", "f:"+PartOfLabel); owns {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// clientSideApply is the field manager of kubectl's client-side apply, which
// shows as an update.
const clientSideApply = "kubectl-client-side-apply"
