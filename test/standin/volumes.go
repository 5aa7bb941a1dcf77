package standin

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// inTree is the provisioner in kube-controller-manager.
const inTree = "kubernetes.io/host-path"

// provision creates the volumes that CSI drivers would create for claims.
func (o *operators) provision(ctx context.Context) error {
	claims, err := o.list(ctx, schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"})
	errs := []error{err}
	for _, claim := range claims {
		phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase")
		if driver := o.driver(ctx, claim); phase == "Pending" && driver != "" && driver != inTree {
			errs = append(errs, o.create(ctx, schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}, volume(claim, driver)))
		}
	}
	return errors.Join(errs...)
}

// driver returns the provisioner of a claim's StorageClass, or "".
func (o *operators) driver(ctx context.Context, claim unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(claim.Object, "spec", "storageClassName")
	if name == "" {
		return ""
	}
	classes := schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	class, err := o.client.Resource(classes).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	provisioner, _, _ := unstructured.NestedString(class.Object, "provisioner")
	return provisioner
}

// volume returns a volume that fits a claim and is bound to it.
func volume(claim unstructured.Unstructured, driver string) map[string]any {
	spec, _, _ := unstructured.NestedMap(claim.Object, "spec")
	size, _, _ := unstructured.NestedString(spec, "resources", "requests", "storage")
	name := "pvc-" + string(claim.GetUID())
	made := map[string]any{
		"capacity":         map[string]any{"storage": size},
		"accessModes":      spec["accessModes"],
		"storageClassName": spec["storageClassName"],
		"claimRef": map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim",
			"namespace": claim.GetNamespace(), "name": claim.GetName(), "uid": string(claim.GetUID()),
		},
		"csi": map[string]any{"driver": driver, "volumeHandle": name},
	}
	if mode, ok := spec["volumeMode"]; ok {
		made["volumeMode"] = mode
	}
	return map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": name}, "spec": made}
}
