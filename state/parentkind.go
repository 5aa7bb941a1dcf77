package state

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
)

// parentType is the label, "true", of a CustomResourceDefinition whose objects
// are made to be parents (KEP-3659).
const parentType = "applyset.kubernetes.io/is-parent-type"

// CheckParentKind refuses a kind whose objects are something else than parents of
// apply sets, as kubectl does: a set is deleted with its parent. A Secret, a
// ConfigMap and what a CustomResourceDefinition says to be made for it may be one.
// Whoever may not read that definition is believed, unless the group is one of
// Kubernetes itself.
func CheckParentKind(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind) error {
	if gvk.Group == "" && (gvk.Kind == "Secret" || gvk.Kind == "ConfigMap") {
		return nil
	}
	kind, _ := cluster.Kind(gvk)
	name := kind.Resource.GroupResource().String()
	definition, err := cluster.Get(ctx, definitionKind(), "", name)
	switch {
	case err == nil && definition.GetLabels()[parentType] == "true":
		return nil
	case err == nil:
		return &UnfitParentError{gvk.GroupKind(), name}
	case apierrors.IsForbidden(err) && !ofKubernetes(gvk.Group):
		return nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return &UnfitParentError{kind: gvk.GroupKind()}
	}
	return fmt.Errorf("find out whether %s may be the parent of an apply set: %w", gvk.GroupKind(), err)
}

// UnfitParentError says that the objects of a kind are no parents.
type UnfitParentError struct {
	kind       schema.GroupKind
	definition string // its CustomResourceDefinition; "" when it has none, or none that may be read
}

func (e *UnfitParentError) Error() string {
	text := fmt.Sprintf("%s cannot be the parent of an apply set, which is deleted with the set: write NAME for a Secret, configmap/NAME, or a kind that is made for it (ordapply applyset crd)", e.kind)
	if e.definition != "" {
		text += fmt.Sprintf("; if %s is made for it, say so: kubectl label customresourcedefinition %s %s=true", e.kind.Kind, e.definition, parentType)
	}
	return text
}

// ofKubernetes tells whether a group is one that Kubernetes itself serves.
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func definitionKind() apply.Kind {
	return apply.Kind{Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}}
}
