package write

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// fixed is a field of a built-in kind that cannot be changed on a live object.
type fixed struct {
	at     []string
	except []string // the fields below it that can be changed
}

// fixedFields returns the fields of a live object that cannot be changed: those whose errors
// IsImmutable knows. Some of them can be changed in some states of the object.
func fixedFields(live *unstructured.Unstructured) []fixed {
	all := func(names ...string) (out []fixed) {
		for _, name := range names {
			out = append(out, fixed{at: []string{name}})
		}
		return out
	}
	spec := func(except ...string) []fixed { return []fixed{{[]string{"spec"}, except}} }
	switch live.GroupVersionKind().GroupKind().String() {
	case "ConfigMap", "Secret":
		if OwnedByAny(live).Has(fieldpath.MakePathOrDie("immutable")) {
			return all("data", "binaryData", "immutable")
		}
	case "Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps":
		return []fixed{{at: []string{"spec", "selector"}}}
	case "StatefulSet.apps":
		return spec("minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit", "template", "updateStrategy")
	case "Job.batch":
		if !mayExpire(live) {
			return spec("activeDeadlineSeconds", "backoffLimit", "parallelism", "suspend", "ttlSecondsAfterFinished")
		}
	case "Pod":
		return spec("activeDeadlineSeconds", "tolerations")
	case "Service":
		return []fixed{{at: []string{"spec", "clusterIP"}}, {at: []string{"spec", "clusterIPs"}}, {at: []string{"spec", "ipFamilies"}}, {at: []string{"spec", "loadBalancerClass"}}}
	case "PersistentVolumeClaim":
		return spec("resources", "volumeAttributesClassName")
	case "PersistentVolume":
		return spec("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName")
	case "StorageClass.storage.k8s.io":
		return all("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
	case "VolumeAttributesClass.storage.k8s.io":
		return all("driverName", "parameters")
	case "PriorityClass.scheduling.k8s.io":
		return all("value", "preemptionPolicy")
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return all("roleRef")
	case "RuntimeClass.node.k8s.io":
		return all("handler")
	case "IngressClass.networking.k8s.io":
		return []fixed{{at: []string{"spec", "controller"}}}
	}
	return nil
}

// expiryMargin is the time in which a run may come to a Job.
const expiryMargin = time.Hour

// mayExpire reports whether Kubernetes may delete a Job before a run comes to it, because the Job
// has a time to live.
func mayExpire(job *unstructured.Unstructured) bool {
	seconds, set, _ := unstructured.NestedInt64(job.Object, "spec", "ttlSecondsAfterFinished")
	return set && time.Since(job.GetCreationTimestamp().Time)+expiryMargin > time.Duration(seconds)*time.Second
}

// MayChangeFixed reports whether a PATCH with a body may change fields that cannot be changed on a
// live object. If only the object's metadata was read, that is so if the body has such fields.
// Values that the API server writes in another form count as changed.
func (o Owner) MayChangeFixed(live, body *unstructured.Unstructured) bool {
	rows := fixedFields(live)
	whole := HasBody(live)
	for _, row := range rows {
		wanted, sent, _ := unstructured.NestedFieldNoCopy(body.Object, row.at...)
		value, _, _ := unstructured.NestedFieldNoCopy(live.Object, row.at...)
		if sent && (!whole || !row.agrees(wanted, value)) {
			return true
		}
	}
	if len(rows) == 0 || !whole {
		return false
	}
	found := false
	for path := range o.FieldsNotIn(live, body).All() { // which does not allow to stop early
		found = found || slices.ContainsFunc(rows, func(row fixed) bool { return row.covers(path) })
	}
	return found
}

// agrees reports whether the live value of the field has all of the wanted one.
func (f fixed) agrees(wanted, live any) bool {
	below, isMap := wanted.(map[string]any)
	if len(f.except) == 0 || !isMap {
		return agrees(wanted, live)
	}
	values, _ := live.(map[string]any)
	for name, value := range below {
		if !slices.Contains(f.except, name) && !agrees(value, values[name]) {
			return false
		}
	}
	return true
}

// covers reports whether a path is in the field, and in no exception.
func (f fixed) covers(path fieldpath.Path) bool {
	if len(path) <= len(f.at) && len(f.except) > 0 || !fields.StartsWith(path, f.at...) {
		return false
	}
	return len(f.except) == 0 || path[len(f.at)].FieldName == nil || !slices.Contains(f.except, *path[len(f.at)].FieldName)
}

// agrees reports whether a live value has all of the wanted one; it may have defaults beside it.
func agrees(wanted, live any) bool {
	switch wanted := wanted.(type) {
	case nil:
		return true
	case map[string]any:
		values, ok := live.(map[string]any)
		for name, value := range wanted {
			if !agrees(value, values[name]) {
				return false
			}
		}
		return ok || len(wanted) == 0
	case []any:
		items, ok := live.([]any)
		if len(items) != len(wanted) {
			return false
		}
		for i := range wanted {
			if !agrees(wanted[i], items[i]) {
				return false
			}
		}
		return ok || len(wanted) == 0
	}
	return fmt.Sprint(wanted) == fmt.Sprint(live) // quantities may be numbers
}

// HasBody reports whether a live object has more than metadata.
func HasBody(live *unstructured.Unstructured) bool {
	for key := range live.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			return true
		}
	}
	return false
}
