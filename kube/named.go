package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// KindFor returns the kind for a name such as "configmap", "configmaps",
// "ConfigMap" or, with its group, "applysets.example.com", in the version
// that kubectl prefers. Unlike kubectl it knows no short names. It returns
// false when no such kind is served, or when the name matches kinds of
// several groups and none of them is the core group.
func (k *Kubernetes) KindFor(text string) (schema.GroupVersionKind, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var best schema.GroupVersionKind
	groups := map[string]bool{}
	for gvk, kind := range k.kinds {
		if !matchesName(text, gvk, kind) || best.Kind != "" && best.Group == "" && gvk.Group != "" {
			continue
		}
		groups[gvk.Group] = true
		if best.Kind == "" || gvk.Group == "" && best.Group != "" || version.CompareKubeAwareVersionStrings(gvk.Version, best.Version) > 0 {
			best = gvk
		}
	}
	return best, best.Kind != "" && (best.Group == "" || len(groups) == 1)
}

// matchesName reports whether a name denotes a kind.
func matchesName(text string, gvk schema.GroupVersionKind, kind Kind) bool {
	name, group, qualified := strings.Cut(text, ".")
	return (!qualified || group == gvk.Group) && (strings.EqualFold(name, gvk.Kind) || strings.EqualFold(name, kind.Resource.Resource))
}
