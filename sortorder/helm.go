package sortorder

import "strings"

// helmKinds is Helm's install order (v4). Kinds it does not know come after
// it, by kind; the group is not looked at.
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

// compareKind orders the kinds that Helm does not know.
func compareKind(a, b *sortKey) int { return strings.Compare(a.kind, b.kind) }
