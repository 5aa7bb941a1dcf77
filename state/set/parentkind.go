package set

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// ParentTypeLabel is the label, "true", of a CustomResourceDefinition whose
// objects are meant to be parents (KEP-3659).
const ParentTypeLabel = "applyset.kubernetes.io/is-parent-type"

// CheckParentKind rejects kinds whose objects are not meant to be parents of
// apply sets, as kubectl does: a set is deleted with its parent. Secrets,
// ConfigMaps and kinds whose CustomResourceDefinition is labelled for it are
// accepted. If the definition may not be read, the kind is accepted unless
// its group is a built-in one. The error is an *UnfitParentError, or says why the
// definition could not be read.
func CheckParentKind(ctx context.Context, cluster kube.Cluster, gvk schema.GroupVersionKind) error {
	if gvk.Group == "" && (gvk.Kind == "Secret" || gvk.Kind == "ConfigMap") {
		return nil
	}
	kind, _ := cluster.Kind(gvk)
	name := kind.Resource.GroupResource().String()
	definition, err := cluster.Get(ctx, kube.DefinitionKind("customresourcedefinitions"), "", name)
	switch {
	case err == nil && definition.GetLabels()[ParentTypeLabel] == "true":
		return nil
	case err == nil:
		return &UnfitParentError{gvk.GroupKind(), name}
	case apierrors.IsForbidden(err) && !object.IsKubernetesGroup(gvk.Group):
		return nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return &UnfitParentError{kind: gvk.GroupKind()}
	}
	return fmt.Errorf("check whether %s may be the parent of an apply set: %w", gvk.GroupKind(), err)
}

// UnfitParentError reports that the objects of a kind cannot be parents.
type UnfitParentError struct {
	kind       schema.GroupKind
	definition string // its CustomResourceDefinition; "" when it has none, or it may not be read
}

// Error names the kind and the alternatives.
func (e *UnfitParentError) Error() string {
	text := fmt.Sprintf("%s cannot be the parent of an apply set, because the parent is deleted with the set: use NAME for a Secret, configmap/NAME, or a kind intended for parents (ordapply applyset crd)", e.kind)
	if e.definition != "" {
		text += fmt.Sprintf("; if %s is intended for parents, label it: kubectl label customresourcedefinition %s %s=true", e.kind.Kind, e.definition, ParentTypeLabel)
	}
	return text
}
