package sortorder

import (
	"cmp"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// The legacy order is from kustomize's SortOrderTransformer (api v0.21.2), the
// default of `kustomize build`. It compares joined strings, not fields, with
// "~" and a letter for empty values: the core group comes after the others, and
// namespace "a-b" before "a".

// legacyKinds returns kustomize's lists. It ranks by kind and ignores the
// group.
func legacyKinds() kindLists {
	return kindLists{
		first: []string{
			"Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount",
			"PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret",
			"Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim",
			"Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
		},
		last: []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
	}
}

// compareLegacy compares resources of one rank: by group, version and kind,
// reversed if a core Namespace is compared with another kind Namespace, so that
// the core one comes first; then by namespace and name.
func compareLegacy(a, b *sortKey) int {
	byKind := strings.Compare(a.gvk, b.gvk)
	if a.kind == "Namespace" && b.kind == "Namespace" && (a.core || b.core) {
		byKind = -byKind
	}
	return cmp.Or(byKind, strings.Compare(a.nsn, b.nsn))
}

func legacyGVK(m object.Meta) string {
	return cmp.Or(m.Group, "~G") + "_" + cmp.Or(m.Version, "~V") + "_" + cmp.Or(m.Kind, "~K")
}

func legacyName(m object.Meta) string {
	return cmp.Or(m.Namespace, "~X") + "|" + cmp.Or(m.Name, "~N")
}
