package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/references"
)

// IsInert reports whether no resource has effects of its own and their manifests
// show all their dependencies. Two such resources are independent unless an edge
// connects them. Workloads are not inert: they may call each other, or check
// other resources.
func (b *Dependencies) IsInert(resources []int) bool {
	return !slices.ContainsFunc(resources, func(i int) bool { return !IsInertKind(b.Resources[i].ID.GroupKind()) })
}

// IsInertKind reports whether objects of a native kind, "Kind.group", are ready once
// they are applied.
func IsInertKind(kind string) bool {
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

// IsPassive reports whether a resource has nothing to become ready: a native object that
// no controller reports on, or a custom resource whose CRD in the stream has no status,
// unless an annotation says when it is ready.
func (b *Dependencies) IsPassive(i int) bool {
	r := b.Resources[i]
	for _, key := range []string{"ordapply.dev/ready-when", "helm.sh/readiness-success"} {
		if _, says := r.Annotations[key]; says {
			return false
		}
	}
	if crd, ok := b.CRDs[references.GroupKind{Group: r.Group, Kind: r.Kind}]; ok {
		return references.HasNoStatus(b.Resources[crd].Object, r.Version)
	}
	return IsInertKind(r.GroupKind()) && !references.IsLoadBalancer(r)
}
