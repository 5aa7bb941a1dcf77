package sortorder

import (
	"cmp"
	"slices"
	"strings"
)

// helmKinds returns Helm's install order (v4). Unknown kinds follow, sorted by
// kind; the group is ignored.
func helmKinds() []string {
	return []string{
		"PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
		"PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass",
		"PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
		"ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
		"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
		"HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	}
}

// compareKind orders the kinds that are not in helmKinds.
func compareKind(a, b *sortKey) int { return strings.Compare(a.kind, b.kind) }

// CompareHelmKinds orders two kinds as Helm installs them; unlisted ones come last, by
// name.
func CompareHelmKinds(a, b string) int {
	listed := helmKinds()
	rank := func(kind string) uint { return uint(slices.Index(listed, kind)) } // -1 is the greatest
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
