package standin

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// fluxKind is a kind of Flux with the Deployment of its controller.
type fluxKind struct {
	resource   schema.GroupVersionResource
	controller string
}

func fluxKinds() []fluxKind {
	return []fluxKind{
		{schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}, "source-controller"},
		{schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "helmrepositories"}, "source-controller"},
		{schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, "kustomize-controller"},
		{schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}, "helm-controller"},
	}
}

// reconcileFlux marks Flux's objects as reconciled, and creates the kind
// ClusterIssuer with the HelmRelease of cert-manager.
func (o *operators) reconcileFlux(ctx context.Context) error {
	var errs []error
	for _, kind := range fluxKinds() {
		found, err := o.list(ctx, kind.resource)
		errs = append(errs, err)
		for _, obj := range found {
			observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
			if observed != obj.GetGeneration() && o.runs(ctx, "flux-system", kind.controller) {
				errs = append(errs, o.reconciled(ctx, kind, obj))
			}
		}
	}
	return errors.Join(errs...)
}

func (o *operators) reconciled(ctx context.Context, kind fluxKind, obj unstructured.Unstructured) error {
	if kind.resource.Resource == "helmreleases" && obj.GetName() == "cert-manager" {
		issuers := Kind{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer", Plural: "clusterissuers"}
		if err := o.create(ctx, crds(), issuers.CRD()); err != nil {
			return err
		}
	}
	status := map[string]any{"status": map[string]any{
		"observedGeneration": obj.GetGeneration(),
		"conditions": []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "reconciled",
			ObservedGeneration: obj.GetGeneration(), LastTransitionTime: metav1.NewTime(time.Now()),
		}},
	}}
	patch, err := json.Marshal(status)
	if err != nil {
		return err
	}
	_, err = o.client.Resource(kind.resource).Namespace(obj.GetNamespace()).
		Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
