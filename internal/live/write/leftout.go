package write

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// dropServerFields removes the fields of metadata that only the API server writes.
func dropServerFields(obj *unstructured.Unstructured) {
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
}

// dropStatus removes the status of a kind with a status subresource: the API server ignores
// it in a PATCH of the object. Elsewhere status is a field like any other.
func (s Stream) dropStatus(obj *unstructured.Unstructured) {
	if s.Kinds == nil {
		return
	}
	if kind, _ := s.Kinds(obj.GroupVersionKind()); kind.HasStatus {
		delete(obj.Object, "status")
	}
}

// dropAnnotations removes the annotations that are not sent: stamps that only the plan needs,
// a fingerprint, keys that the API server rejects, and keys that only controllers and kubectl
// write.
func dropAnnotations(obj *unstructured.Unstructured) {
	annotations, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "annotations")
	entries, _ := annotations.(map[string]any)
	had := len(entries)
	for _, key := range slices.Concat(edges.IllegalAnnotations(), stamp.Keys(), ControllerAnnotations(obj)) {
		if key != stamp.LayerAnnotation {
			delete(entries, key)
		}
	}
	delete(entries, applyset.AppliedAnnotation)
	if had > 0 && len(entries) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
}

// ControllerAnnotations returns the keys of a manifest's annotations that only controllers of
// Kubernetes and kubectl write, sorted. They describe one object of one cluster; manifests
// that were exported with kubectl get -o yaml contain them.
func ControllerAnnotations(manifest *unstructured.Unstructured) []string {
	annotations, _, _ := unstructured.NestedFieldNoCopy(manifest.Object, "metadata", "annotations")
	entries, _ := annotations.(map[string]any)
	if len(entries) == 0 {
		return nil
	}
	written := slices.Concat([]string{"kubectl.kubernetes.io/last-applied-configuration"}, writtenByControllers(manifest.GroupVersionKind().GroupKind()))
	return slices.DeleteFunc(slices.Sorted(maps.Keys(entries)), func(key string) bool { return !slices.Contains(written, key) })
}

// writtenByControllers returns the annotations that only controllers write to a kind, from
// https://kubernetes.io/docs/reference/labels-annotations-taints/ and the sources of
// Kubernetes 1.36. Annotations that people write as well, such as
// pv.kubernetes.io/provisioned-by and kubectl.kubernetes.io/restartedAt, are not among them.
func writtenByControllers(kind schema.GroupKind) []string {
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return []string{
			"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
			"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
		}
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return []string{"deprecated.daemonset.template.generation"}
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return []string{"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics"}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return []string{"batch.kubernetes.io/cronjob-scheduled-timestamp", "batch.kubernetes.io/job-tracking"}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return []string{
			"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to",
			"volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner",
			"volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-resizer",
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return []string{"pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to", "volume.alpha.kubernetes.io/pre-resize-capacity"}
	case schema.GroupKind{Kind: "Endpoints"}:
		return []string{"endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity", "control-plane.alpha.kubernetes.io/leader"}
	case schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:
		return []string{"endpoints.kubernetes.io/last-change-trigger-time"}
	case schema.GroupKind{Kind: "ConfigMap"}:
		return []string{"control-plane.alpha.kubernetes.io/leader"}
	case schema.GroupKind{Kind: "Node"}:
		return []string{"node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach"}
	case schema.GroupKind{Kind: "Secret"}:
		return []string{"kubernetes.io/service-account.uid"}
	}
	return nil
}
