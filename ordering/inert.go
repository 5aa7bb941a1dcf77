package ordering

// inert tells whether all of these do nothing by themselves and show in their
// manifests all that they need: then two of them are independent unless an
// edge connects them. Programs are not: they may call each other, or check
// what others apply.
func (b *builder) inert(resources []int) bool {
	for _, i := range resources {
		if !inertKind(b.resources[i].ID.GroupKind()) {
			return false
		}
	}
	return true
}

func inertKind(kind string) bool {
	switch kind {
	case "Namespace", "ConfigMap", "Secret", "ServiceAccount", "Service", "LimitRange", "PersistentVolume",
		"Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io",
		"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io", "StorageClass.storage.k8s.io",
		"IngressClass.networking.k8s.io", "Ingress.networking.k8s.io", "NetworkPolicy.networking.k8s.io",
		"PodDisruptionBudget.policy", "HorizontalPodAutoscaler.autoscaling",
		"CustomResourceDefinition.apiextensions.k8s.io":
		return true
	}
	return false
}
