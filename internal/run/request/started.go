package request

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// HasStarted reports whether the Pods of an object's present spec exist, ready or not; true
// where Kubernetes makes none for it now.
func HasStarted(id object.ID, live *unstructured.Unstructured) bool {
	if !id.MakesPods() {
		return true
	}
	status := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(live.Object, "status", field)
		return n
	}
	if id.Kind == "Job" {
		return status("active")+status("succeeded")+status("failed") > 0 || isSet(live, "suspend")
	}
	if status("observedGeneration") < live.GetGeneration() {
		return false
	}
	switch id.Kind {
	case "DaemonSet":
		return status("desiredNumberScheduled") == 0 || status("updatedNumberScheduled") > 0
	case "ReplicaSet", "ReplicationController":
		return status("replicas") > 0 || wantsNone(live)
	}
	return status("updatedReplicas") > 0 || wantsNone(live) || isSet(live, "paused")
}

// wantsNone reports whether a workload is scaled to zero.
func wantsNone(live *unstructured.Unstructured) bool {
	n, set, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	return set && n == 0
}

func isSet(live *unstructured.Unstructured, field string) bool {
	set, _, _ := unstructured.NestedBool(live.Object, "spec", field)
	return set
}
