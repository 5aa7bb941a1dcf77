package standin

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is a kind of another project that a stream uses.
type Kind struct {
	Group, Version, Kind, Plural string
	Namespaced                   bool
}

// CRD returns a definition of the kind with a schema that accepts anything.
func (k Kind) CRD() map[string]any {
	scope := "Cluster"
	if k.Namespaced {
		scope = "Namespaced"
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": k.Plural + "." + k.Group,
			// Required for groups below k8s.io:
			// https://github.com/kubernetes/enhancements/pull/1111.
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		"spec": map[string]any{
			"group": k.Group,
			"scope": scope,
			"names": map[string]any{"kind": k.Kind, "listKind": k.Kind + "List", "plural": k.Plural, "singular": strings.ToLower(k.Kind)},
			"versions": []any{map[string]any{
				"name": k.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
}

// makeConstraints creates the CRDs of ConstraintTemplates, as Gatekeeper does:
// https://open-policy-agent.github.io/gatekeeper/website/docs/constrainttemplates.
func (o *operators) makeConstraints(ctx context.Context) error {
	templates := schema.GroupVersionResource{Group: "templates.gatekeeper.sh", Version: "v1", Resource: "constrainttemplates"}
	found, err := o.list(ctx, templates)
	if err != nil || len(found) == 0 || !o.runs(ctx, "gatekeeper-system", "gatekeeper-controller-manager") {
		return err
	}
	var errs []error
	for _, template := range found {
		if created, _, _ := unstructured.NestedBool(template.Object, "status", "created"); created {
			continue
		}
		kind, _, _ := unstructured.NestedString(template.Object, "spec", "crd", "spec", "names", "kind")
		constraint := Kind{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Kind: kind, Plural: strings.ToLower(kind)}
		if err := o.create(ctx, crds(), constraint.CRD()); err != nil {
			errs = append(errs, err)
			continue
		}
		_, err := o.client.Resource(templates).Patch(ctx, template.GetName(), types.MergePatchType, []byte(`{"status": {"created": true}}`), metav1.PatchOptions{}, "status")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
