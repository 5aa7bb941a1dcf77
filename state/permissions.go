package state

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Permissions tells what keeping a set asks for, beside what its members do:
// its parent, which is served as kind; its Lease and its history, in a
// namespace; and which cluster this is. A dry run only reads the parent.
func Permissions(parent object.ID, kind apply.Kind, namespace string, dryRun bool) apply.Permissions {
	about := func(kind apply.Kind, namespace, name string, verbs ...string) []apply.Permission {
		var out []apply.Permission
		for _, verb := range verbs {
			out = append(out, apply.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace, Name: name})
		}
		return out
	}
	var p apply.Permissions
	if kind.Resource.Group != "" { // see CheckParentKind
		p.Add(apply.Permissions{Optional: about(definitionKind(), "", kind.Resource.GroupResource().String(), "get")})
	}
	if dryRun {
		p.Add(apply.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get")})
		return p
	}
	p.Add(apply.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get", "create", "patch")})
	p.Add(apply.Permissions{Required: about(leaseKind(), namespace, LeaseOf(parent, namespace).Name, "get", "update")})
	p.Add(apply.Permissions{Required: about(leaseKind(), namespace, "", "create")}) // which is asked for without a name
	p.Add(apply.Permissions{Required: about(secretKind(), namespace, "", "create", "delete", "get", "list", "patch")})
	p.Add(apply.Permissions{Optional: about(namespaceKind(), "", "kube-system", "get")})
	return p
}

// MemberPermissions tells what doing something to every object takes that a set
// may have: one of its kinds, wherever it promises to keep to.
func MemberPermissions(promise applyset.Parent, kinds apply.Kinds, verbs ...string) apply.Permissions {
	namespaces := (&Set{Parent: promise}).namespaces()
	var p apply.Permissions
	for _, gk := range promise.Kinds {
		p.Add(apply.UnservedPermissions(gk))
		kind, known := kinds(gk.WithVersion(""))
		if !known {
			p.Unknown = append(p.Unknown, gk)
			continue
		}
		places := namespaces
		if !kind.Namespaced {
			places = []string{""}
		}
		for _, namespace := range places {
			for _, verb := range verbs {
				p.Required = append(p.Required, apply.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace})
			}
		}
	}
	return p
}

// ViewPermissions are those for showing a set and its members, once or as they
// change.
func ViewPermissions(promise applyset.Parent, kind apply.Kind, namespace string, kinds apply.Kinds) apply.Permissions {
	var p apply.Permissions
	p.Add(MemberPermissions(promise, kinds, "list"))
	watched := MemberPermissions(promise, kinds, "watch")
	p.Add(apply.Permissions{Optional: watched.Required})
	for _, verb := range []string{"list", "watch"} {
		p.Add(apply.Permissions{Optional: []apply.Permission{
			{Verb: verb, Resource: kind.Resource, Namespace: promise.ID.Namespace, Name: promise.ID.Name},
			{Verb: verb, Resource: secretKind().Resource, Namespace: namespace},
		}})
	}
	return p
}

// Permissions tells what the run asks for beside what its members do. Of an
// account that may not delete all that the set may have it reads what there would
// be to prune; whatever keeps it from that, the run will say.
func (r Run) Permissions(ctx context.Context, access apply.Access, kinds apply.Kinds) apply.Permissions {
	r = r.prepared()
	kind, _ := kinds(r.Kind)
	var p apply.Permissions
	p.Add(Permissions(r.Parent, kind, r.Namespace, r.Applier.DryRun))
	if !r.Prune && (!r.TakeOver || r.Applier.DryRun) {
		return p
	}
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return p
	}
	if set.foreign {
		p.Add(MemberPermissions(set.Parent, kinds, "list", "patch"))
	}
	if !r.Prune {
		return p
	}
	set.Parent = set.Parent.Widened(r.members())
	p.Add(MemberPermissions(set.Parent, kinds, "list"))
	anything := func() []apply.Permission { return MemberPermissions(set.Parent, kinds, "delete", "get").Required }
	if apply.CheckAccess(ctx, access, anything) == nil {
		return p
	}
	if members, err := set.Members(ctx); err == nil {
		gone := r.leftOver(members)
		maps.DeleteFunc(gone, func(id object.ID, live *unstructured.Unstructured) bool {
			return applyset.Protection(live) != "" || r.essential(id) != ""
		})
		p.Add(apply.RemovalPermissions(gone, kinds))
	}
	return p
}

// Permissions tells what deleting the set asks for, with these live members in
// this order: those that are kept lose their label.
func (d Dissolution) Permissions(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured, kinds apply.Kinds) []apply.Permission {
	kind, _ := kinds(d.Kind)
	var p apply.Permissions
	p.Add(Permissions(d.Parent, kind, d.Namespace, d.Remover.DryRun))
	p.Add(DissolvePermissions(d.Parent, kind, d.Namespace))
	p.Add(apply.RemovalPermissions(live, kinds))
	set, err := d.open(ctx)
	if err != nil || d.Remover.DryRun { // the run will say so
		return p.Required
	}
	if hooked, err := d.hooked(ctx, set); err == nil {
		p.Add(hookrun.Permissions(hooked.hooks, kinds, false, hooks.PreDelete, hooks.PostDelete))
	}
	for id := range d.removal(set, Members{}, &departure{}).stays(ctx, order, live) {
		if kind, known := kinds(live[id].GroupVersionKind()); known {
			p.Required = append(p.Required, apply.Permission{Verb: "patch", Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name})
		}
	}
	return p.Required
}

// DissolvePermissions tells what forgetting a set asks for, beyond keeping it.
func DissolvePermissions(parent object.ID, kind apply.Kind, namespace string) apply.Permissions {
	return apply.Permissions{Required: []apply.Permission{
		{Verb: "delete", Resource: kind.Resource, Namespace: parent.Namespace, Name: parent.Name},
		{Verb: "delete", Resource: leaseKind().Resource, Namespace: namespace, Name: LeaseOf(parent, namespace).Name},
	}}
}
