package applyset

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Removal is why an object would be deleted. Argo CD has protections against each.
type Removal string

// The reasons. The zero value is any of them.
const (
	Prune  Removal = "prune"  // the stream no longer contains it
	Delete Removal = "delete" // it was named, or its apply set is deleted
)

// Protection returns the annotation or label, as "key: value", that protects an object
// from a removal; "" if none does. They are ordapply.dev/lifecycle: keep, and keys of
// other tools, with their values in any case:
//
//   - cli-utils, kpt (pkg/common): client.lifecycle.config.k8s.io/deletion: detach,
//     cli-utils.sigs.k8s.io/on-remove: keep;
//   - Helm (pkg/kube/resource_policy.go): helm.sh/resource-policy: keep;
//   - Argo CD (gitops-engine, controller/appcontroller.go): an item Prune=false or
//     Prune=confirm of argocd.argoproj.io/sync-options against a prune, Delete=false,
//     Delete=confirm or Prune=confirm against a deletion;
//   - Flux (kustomize-controller): kustomize.toolkit.fluxcd.io/prune: disabled,
//     reconcile: disabled or ssa: Ignore, as an annotation or a label, in any case;
//   - kapp (pkg/kapp/clusterapply): kapp.k14s.io/delete-strategy: orphan.
func Protection(obj *unstructured.Unstructured, from Removal) string {
	annotations := obj.GetAnnotations()
	for _, p := range [][2]string{
		{"ordapply.dev/lifecycle", "keep"},
		{"client.lifecycle.config.k8s.io/deletion", "detach"},
		{"cli-utils.sigs.k8s.io/on-remove", "keep"},
		{"kapp.k14s.io/delete-strategy", "orphan"},
	} {
		if isValue(annotations[p[0]], p[1]) {
			return p[0] + ": " + p[1]
		}
	}
	if value := annotations[helmResourcePolicy]; slices.ContainsFunc(items(value), func(item string) bool { return isValue(item, "keep") }) {
		return helmResourcePolicy + ": " + value
	}
	for _, option := range argocdProtections(from) {
		if slices.ContainsFunc(items(annotations[argocdSyncOptions]), func(item string) bool { return isValue(item, option) }) {
			return argocdSyncOptions + ": " + option
		}
	}
	return firstOf(obj, fluxPrune+": disabled", fluxReconcile+": disabled", fluxSSA+": Ignore")
}

// isValue compares a value that protects in any case, and without the space around it: one
// that its tool would not accept was meant as well.
func isValue(value, protects string) bool {
	return strings.EqualFold(strings.TrimSpace(value), protects)
}

func isText(value any, protects string) bool {
	text, ok := value.(string)
	return ok && isValue(text, protects)
}

// stringsOf returns the labels or annotations of an object without a copy, which takes long
// for thousands of objects. They must not be changed.
func stringsOf(obj *unstructured.Unstructured, field string) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	out, _ := metadata[field].(map[string]any)
	return out
}

// Keys of other tools.
const (
	helmResourcePolicy = "helm.sh/resource-policy"
	argocdSyncOptions  = "argocd.argoproj.io/sync-options"
	fluxPrune          = "kustomize.toolkit.fluxcd.io/prune"
	fluxReconcile      = "kustomize.toolkit.fluxcd.io/reconcile"
	fluxSSA            = "kustomize.toolkit.fluxcd.io/ssa"
)

// argocdProtections returns the sync options that protect from a removal.
func argocdProtections(from Removal) []string {
	prune, deletion := []string{"Prune=false", "Prune=confirm"}, []string{"Delete=false", "Delete=confirm", "Prune=confirm"}
	switch from {
	case Prune:
		return prune
	case Delete:
		return deletion
	}
	return append(prune, deletion...)
}

// items splits a comma-separated list.
func items(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		out = append(out, strings.TrimSpace(item))
	}
	return out
}

// firstOf returns the first of some pairs "key: value" that an object has as an annotation
// or as a label, which is how Flux reads its policies; "" if it has none.
func firstOf(obj *unstructured.Unstructured, pairs ...string) string {
	labels, annotations := stringsOf(obj, "labels"), stringsOf(obj, "annotations")
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, ": ")
		if isText(annotations[key], value) || isText(labels[key], value) {
			return pair
		}
	}
	return ""
}
