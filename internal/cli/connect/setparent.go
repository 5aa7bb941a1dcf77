package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// NamespaceOfSet returns the namespace of a set's parent, named as in a command; "" if that is
// cluster-scoped, and for no set.
func (t *Target) NamespaceOfSet(text string) string {
	kind, _, found := strings.Cut(text, "/")
	if !found {
		kind = "secret"
	}
	gvk, _ := t.Cluster.KindFor(kind)
	if k, _ := t.Cluster.Kind(gvk); text == "" || !k.Namespaced {
		return ""
	}
	return t.Scope.Namespace
}

// ParentOf returns the kind and ID of a set's parent: NAME is a Secret in the
// command's namespace; KIND/NAME may be a ConfigMap or a custom resource, as in
// kubectl.
func ParentOf(ctx context.Context, t *Target, text string) (schema.GroupVersionKind, object.ID, error) {
	kind, name, found := strings.Cut(text, "/")
	if !found {
		kind, name = "secret", text
	}
	gvk, served := t.Cluster.KindFor(kind)
	switch {
	case name == "":
		return gvk, object.ID{}, usage.Errorf("--applyset=%s: write NAME or KIND/NAME", text)
	case !served:
		return gvk, object.ID{}, usage.Errorf("--applyset=%s: the API server does not serve %q; for a set in namespace %[2]s write %[3]s -n %[2]s", text, kind, name)
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return gvk, object.ID{}, usage.Errorf("--applyset=%s: %q cannot be the name of its parent: %s", text, name, faults[0])
	}
	if err := set.CheckParentKind(ctx, t.Cluster, gvk); err != nil {
		if unfit, is := errors.AsType[*set.UnfitParentError](err); is {
			err = usage.Errorf("--applyset=%s: %w", text, unfit)
		}
		return gvk, object.ID{}, err
	}
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Name: name}
	t.RecordsNamespace = t.Scope.Namespace
	if k, _ := t.Cluster.Kind(gvk); k.Namespaced {
		id.Namespace = t.Scope.Namespace
		return gvk, id, nil
	}
	home, err := set.RecordsNamespace(ctx, t.Cluster, gvk, id)
	if home != "" {
		t.RecordsNamespace = home
	}
	return gvk, id, err
}

// UseSet makes a target the scope of a stream that is applied to a set: its resources may
// be in any namespace. Under a cluster-scoped parent, the namespace of resources without
// one is the home of the set unless -n names another. It returns the kind and ID of the parent. Without
// a set it does nothing.
func UseSet(ctx context.Context, t *Target, name string) (schema.GroupVersionKind, object.ID, error) {
	if name == "" {
		return schema.GroupVersionKind{}, object.ID{}, nil
	}
	t.Scope.Enforce = false
	gvk, parent, err := ParentOf(ctx, t, name)
	if err != nil {
		return gvk, parent, ExplainForbidden(err, t, name)
	}
	if parent.Namespace == "" && t.GivenNamespace == "" {
		t.Scope.Namespace = t.RecordsNamespace
	}
	return gvk, parent, nil
}

// Existing is an apply set in the cluster, with its history.
type Existing struct {
	*set.Set
	History history.History
}

// OpenExisting reads the set with a name, whichever tool manages it.
func OpenExisting(ctx context.Context, t *Target, name string) (Existing, error) {
	gvk, id, err := ParentOf(ctx, t, name)
	if err != nil {
		return Existing{}, err
	}
	set, err := set.Open(ctx, t.Cluster, gvk, id, true)
	if err != nil {
		return Existing{}, err
	}
	err = set.Recover(ctx, historyOf(t, set))
	if apierrors.IsForbidden(err) && !set.Exists() { // this account cannot tell whether there is a history
		err = nil
	}
	if err == nil && !set.Known() {
		set.FindLost(ctx)
	}
	if err == nil && !set.Known() {
		if where := Elsewhere(ctx, t, gvk, id); where != "" {
			err = fmt.Errorf("apply set %s not found in namespace %s; %s", name, id.Namespace, where)
		} else {
			err = fmt.Errorf("apply set %s not found: its parent, %s, does not exist (-n sets its namespace; ordapply apply --applyset %s creates one)", name, id, name)
		}
	}
	if err != nil {
		return Existing{}, err
	}
	return Existing{set, historyOf(t, set)}, nil
}

// Elsewhere says in which other namespaces sets have the name of one that does not exist, or, if
// -n did not name the namespace, why they cannot be searched; "" if there is nothing to say.
func Elsewhere(ctx context.Context, t *Target, gvk schema.GroupVersionKind, id object.ID) string {
	if id.Namespace == "" {
		return ""
	}
	sets, _, err := find(ctx, t.Cluster, gvk, "", "metadata.name="+id.Name)
	switch {
	case err != nil && t.GivenNamespace != "":
		return ""
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("you may not list %s objects of all namespaces, so another one may have it: name its namespace with -n", gvk.GroupKind())
	case err != nil:
		return fmt.Sprintf("other namespaces could not be searched (%v): name its namespace with -n", err)
	case len(sets) == 0:
		return ""
	}
	var namespaces []string
	for _, one := range sets {
		namespaces = append(namespaces, one.Parent.ID.Namespace)
	}
	slices.Sort(namespaces)
	if len(namespaces) == 1 {
		return fmt.Sprintf("it is in namespace %s: add -n %[1]s", namespaces[0])
	}
	return "namespaces " + strings.Join(plain.Sample(namespaces, 5, "%d more", func(s string) string { return s }), ", ") + " have one: name its namespace with -n"
}

func historyOf(t *Target, set *set.Set) history.History {
	return history.History{Cluster: t.Cluster, Parent: set.Parent, Namespace: t.RecordsNamespace, Vouchers: set.Vouchers()}
}
