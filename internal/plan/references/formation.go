package references

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Some programs form a cluster of their Pods only when a hook tells one of them to, as
// `cockroach init` does. Before that the Pods run, and are not ready. The manifests show it:
// the hook names a Pod by its DNS name, below a Service that publishes Pods that are not ready.

// MadeReadyByHook reports whether a resource becomes ready only when a hook that runs after the
// resources of the stream has written its CA bundle, or has formed the cluster of its Pods.
func (ix *Index) MadeReadyByHook(i int) bool {
	return ix.FillerOf(i) == FilledByHook || ix.isFormedByHook(ix.Resources[i])
}

// isFormedByHook reports whether a hook addresses a Pod of a StatefulSet that need not be ready.
func (ix *Index) isFormedByHook(r ordering.Resource) bool {
	if r.GroupKind() != "StatefulSet.apps" || len(ix.Hooks) == 0 {
		return false
	}
	name := String(r.Object, "spec", "serviceName")
	service, ok := ix.ByID[object.ID{Kind: "Service", Namespace: r.Namespace, Name: name}]
	if !ok || Field(ix.Resources[service].Object, "spec", "publishNotReadyAddresses") != true {
		return false
	}
	return slices.ContainsFunc(ix.Hooks, func(hook ordering.Resource) bool {
		return runsAfter(hook) && PodSpec(hook.Object) != nil && slices.ContainsFunc(podWords(hook), func(word string) bool {
			namespace, is := podNamed(word, r.Name, name)
			return is && (namespace == "" && hook.Namespace == r.Namespace || namespace != "" && namespace == r.Namespace)
		})
	})
}

// podNamed reports whether a word is the DNS name of a Pod of a StatefulSet below a Service, such
// as web-0.web or web-0.web.shop.svc, and returns the namespace in it.
func podNamed(word, set, service string) (namespace string, is bool) {
	labels := strings.Split(strings.TrimSuffix(word, "."), ".")
	ordinal, ok := strings.CutPrefix(labels[0], set+"-")
	if !ok || ordinal == "" || strings.Trim(ordinal, "0123456789") != "" || len(labels) < 2 || labels[1] != service {
		return "", false
	}
	if len(labels) > 2 {
		namespace = labels[2]
	}
	return namespace, true
}
