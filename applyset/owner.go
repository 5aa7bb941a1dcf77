package applyset

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
