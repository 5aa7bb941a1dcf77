package input

import (
	"strings"

	"github.com/ordapply/ordapply/object"
)

// IsKind reports whether a word names the kind of a resource: lower case, plural, short or
// qualified by its group.
func IsKind(id object.ID, kind string) bool {
	kind = strings.ToLower(kind)
	if long, ok := shortNames()[kind]; ok {
		kind = long
	}
	for _, own := range []string{strings.ToLower(id.Kind), strings.ToLower(id.GroupKind())} {
		word, group, _ := strings.Cut(own, ".")
		for _, form := range []string{word, word + "s", word + "es", strings.TrimSuffix(word, "y") + "ies"} {
			if group != "" {
				form += "." + group
			}
			if form == kind {
				return true
			}
		}
	}
	return false
}

// shortNames returns kubectl's short names of common kinds.
func shortNames() map[string]string {
	return map[string]string{
		"cj": "cronjob.batch", "cm": "configmap", "crd": "customresourcedefinition.apiextensions.k8s.io", "deploy": "deployment.apps", "ds": "daemonset.apps",
		"hpa": "horizontalpodautoscaler.autoscaling", "ing": "ingress.networking.k8s.io", "netpol": "networkpolicy.networking.k8s.io", "ns": "namespace",
		"pdb": "poddisruptionbudget.policy", "po": "pod", "pv": "persistentvolume", "pvc": "persistentvolumeclaim", "rs": "replicaset.apps",
		"sa": "serviceaccount", "sc": "storageclass.storage.k8s.io", "sts": "statefulset.apps", "svc": "service",
	}
}
