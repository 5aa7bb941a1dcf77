package lint

import "strings"

// native returns the kinds that Kubernetes 1.36 serves and manifests
// create, as "Kind" of the core group or "Kind.group".
func native() []string {
	var kinds []string
	for group, names := range map[string]string{
		"": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController " +
			"ResourceQuota Secret Service ServiceAccount",
		"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
			"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
		"apiextensions.k8s.io":         "CustomResourceDefinition",
		"apiregistration.k8s.io":       "APIService",
		"apps":                         "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
		"autoscaling":                  "HorizontalPodAutoscaler",
		"batch":                        "CronJob Job",
		"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
		"coordination.k8s.io":          "Lease LeaseCandidate",
		"discovery.k8s.io":             "EndpointSlice",
		"events.k8s.io":                "Event",
		"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
		"networking.k8s.io":            "Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR",
		"node.k8s.io":                  "RuntimeClass",
		"policy":                       "PodDisruptionBudget",
		"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding Role RoleBinding",
		"resource.k8s.io":              "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
		"scheduling.k8s.io":            "PriorityClass",
		"storage.k8s.io":               "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
	} {
		for name := range strings.FieldsSeq(names) {
			kinds = append(kinds, strings.TrimSuffix(name+"."+group, "."))
		}
	}
	return kinds
}
