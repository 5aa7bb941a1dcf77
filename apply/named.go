package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Named finds the kind that a person means by "configmap", "configmaps",
// "ConfigMap" or, with its group, "applysets.example.com", in the version that
// kubectl would choose; false when none is served, or the name fits kinds of
// several groups and none of them is the core group.
func (k *Kubernetes) Named(text string) (schema.GroupVersionKind, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var best schema.GroupVersionKind
	groups := map[string]bool{}
	for gvk, kind := range k.kinds {
		if !isMeant(text, gvk, kind) || best.Kind != "" && best.Group == "" && gvk.Group != "" {
			continue
		}
		groups[gvk.Group] = true
		if best.Kind == "" || gvk.Group == "" && best.Group != "" || version.CompareKubeAwareVersionStrings(gvk.Version, best.Version) > 0 {
			best = gvk
		}
	}
	return best, best.Kind != "" && (best.Group == "" || len(groups) == 1)
}

// isMeant tells whether a person's word for a kind is this one's.
func isMeant(text string, gvk schema.GroupVersionKind, kind Kind) bool {
	name, group, qualified := strings.Cut(text, ".")
	return (!qualified || group == gvk.Group) && (strings.EqualFold(name, gvk.Kind) || strings.EqualFold(name, kind.Resource.Resource))
}
