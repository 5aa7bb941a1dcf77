package write

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// applier is a tool that applies whole manifests.
type applier struct {
	managers []string // its field managers; a name that ends in * is a prefix
	groups   []string // API groups whose objects the tool reconciles, so that it writes to them as their controller
}

// appliers are the tools whose objects a run takes over with all fields that they wrote. A
// manager that only edits single fields, such as kubectl-edit, kubectl-patch and kubectl-scale,
// is none.
func appliers() []applier {
	return []applier{
		{managers: []string{"kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "kubectl-last-applied"}}, // also kpt live and cli-utils
		{managers: []string{"helm", "terraform-provider-helm*"}},
		{managers: []string{"argocd-controller", "argocd-application-controller"}, groups: []string{"argoproj.io"}},
		{managers: []string{"kustomize-controller", "helm-controller", "flux", "flux-operator"}, groups: []string{"toolkit.fluxcd.io", "helm.cattle.io", "controlplane.io"}},
		{managers: []string{"Terraform", "HashiCorp"}},
		{managers: []string{"kapp", "kapp-controller", "kapp-server-side-apply"}, groups: []string{"carvel.dev", "k14s.io"}},
		{managers: []string{"pulumi-kubernetes", "pulumi-kubernetes-*", "pulumi-resource-kubernetes"}},
		{managers: []string{"configsync"}, groups: []string{"configsync.gke.io", "configmanagement.gke.io"}},
		{managers: []string{"kluctl", "kluctl-*"}, groups: []string{"kluctl.io"}},
		{managers: []string{"tanka"}},
		{managers: []string{"zarf"}},
		{managers: []string{"k8sconnect", "k8sconnect-*"}},
	}
}

// isApplier reports whether an entry of a live object's managedFields is of a tool that applies
// whole manifests.
func isApplier(live *unstructured.Unstructured, manager, subresource string) bool {
	if subresource != "" {
		return false
	}
	group, _ := object.SplitAPIVersion(live.GetAPIVersion())
	return slices.ContainsFunc(appliers(), func(a applier) bool {
		return slices.ContainsFunc(a.managers, func(name string) bool { return isNamed(manager, name) }) &&
			!slices.ContainsFunc(a.groups, func(own string) bool { return group == own || strings.HasSuffix(group, "."+own) })
	})
}

func isNamed(manager, name string) bool {
	if prefix, any := strings.CutSuffix(name, "*"); any {
		return strings.HasPrefix(manager, prefix)
	}
	return manager == name
}
