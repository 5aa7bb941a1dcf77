package inventory

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// refOfKubectl returns the ID of an object's apply set, and the namespace in which the parent
// of the set is if kubectl manages it: its sets with a parent elsewhere are not found.
func refOfKubectl(live *unstructured.Unstructured) (namespace, name string) {
	if live.GetNamespace() == "" {
		return "", ""
	}
	return live.GetNamespace(), live.GetLabels()[applyset.PartOfLabel]
}

// readKubectl reads an apply set of kubectl, whose members have its label. A set is taken over
// with its parent, by its name.
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune
func readKubectl(ctx context.Context, cluster kube.Reads, ref Ref) (*Inventory, error) {
	for _, gk := range []schema.GroupKind{{Kind: "Secret"}, {Kind: "ConfigMap"}} {
		parents, err := list(ctx, cluster, gk, ref.Namespace, kube.Query{Labels: applyset.IDLabel + "=" + ref.Name, Metadata: true})
		if apierrors.IsForbidden(err) || err == nil && len(parents) == 0 {
			continue // without the right to list parents it is a set of another name
		}
		if err != nil {
			return nil, err
		}
		parent, err := applyset.ReadParent(parents[0])
		if err != nil || !strings.HasPrefix(parent.Tooling, "kubectl/") {
			return nil, err
		}
		found := &Inventory{Ref: ref, Title: "apply set " + parent.ID.String(), Stop: Remedy{"kubectl manages it, and prunes it by its name", "use --applyset " + parent.Argument()}}
		for _, gk := range parent.Kinds {
			members, err := list(ctx, cluster, gk, ref.Namespace, kube.Query{Labels: applyset.PartOfLabel + "=" + ref.Name, Metadata: true})
			if err != nil {
				return nil, err
			}
			for _, member := range members {
				found.Objects = append(found.Objects, kube.Meta(member).ID)
			}
		}
		return found, nil
	}
	return nil, nil
}
