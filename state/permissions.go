package state

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/access"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/lease"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Permissions returns the permissions that storing a set requires, in
// addition to those for its members: for its parent, which is served as kind;
// for its Lease and its history in a namespace; and for the cluster ID. A dry
// run only reads the parent.
func Permissions(parent object.ID, kind kube.Kind, namespace string, dryRun bool) kube.Permissions {
	about := func(kind kube.Kind, namespace, name string, verbs ...string) []kube.Permission {
		var out []kube.Permission
		for _, verb := range verbs {
			out = append(out, kube.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace, Name: name})
		}
		return out
	}
	var p kube.Permissions
	if kind.Resource.Group != "" { // see CheckParentKind
		p.Add(kube.Permissions{Optional: about(kube.DefinitionKind("customresourcedefinitions"), "", kind.Resource.GroupResource().String(), "get")})
	}
	if dryRun {
		p.Add(kube.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get")})
		return p
	}
	p.Add(kube.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get", "create", "patch")})
	p.Add(kube.Permissions{Required: about(lease.Kind(), namespace, lease.Of(parent, namespace).Name, "get", "update")})
	p.Add(kube.Permissions{Required: about(lease.Kind(), namespace, "", "create")}) // create is authorized without a name
	p.Add(kube.Permissions{Required: about(kube.CoreKind("secrets"), namespace, "", "create", "delete", "get", "list", "patch")})
	p.Add(kube.Permissions{Optional: about(kube.NamespaceKind(), "", "kube-system", "get")})
	return p
}

// MemberPermissions returns the permissions for verbs on every object that
// may be a member of a set: all objects of its kinds in its namespaces.
func MemberPermissions(promise applyset.Parent, kinds kube.Kinds, verbs ...string) kube.Permissions {
	namespaces := (&Set{Parent: promise}).Namespaces()
	var p kube.Permissions
	for _, gk := range promise.Kinds {
		p.Add(access.UnservedPermissions(gk))
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
				p.Required = append(p.Required, kube.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace})
			}
		}
	}
	return p
}

// ViewPermissions returns the permissions for showing a set and its members,
// once or continuously.
func ViewPermissions(promise applyset.Parent, kind kube.Kind, namespace string, kinds kube.Kinds) kube.Permissions {
	var p kube.Permissions
	p.Add(MemberPermissions(promise, kinds, "list"))
	watched := MemberPermissions(promise, kinds, "watch")
	p.Add(kube.Permissions{Optional: watched.Required})
	for _, verb := range []string{"list", "watch"} {
		p.Add(kube.Permissions{Optional: []kube.Permission{
			{Verb: verb, Resource: kind.Resource, Namespace: promise.ID.Namespace, Name: promise.ID.Name},
			{Verb: verb, Resource: kube.CoreKind("secrets").Resource, Namespace: namespace},
		}})
	}
	return p
}

// Permissions returns the permissions that the run requires in addition to
// those for its members. For a user who may not delete every possible member
// it reads what would be pruned; the run reports what keeps it from that.
func (r Run) Permissions(ctx context.Context, reviewer access.Reviewer, kinds kube.Kinds) kube.Permissions {
	r = r.withDefaults()
	kind, _ := kinds(r.Kind)
	var p kube.Permissions
	p.Add(Permissions(r.Parent, kind, r.Namespace, r.Applier.DryRun))
	if !r.Prune && (!r.TakeOver || r.Applier.DryRun) {
		return p
	}
	set, err := r.open(ctx, r.TakeOver)
	if err != nil {
		return p
	}
	if set.IsOtherTool() {
		p.Add(MemberPermissions(set.Parent, kinds, "list", "patch"))
	}
	if !r.Prune {
		return p
	}
	set.Parent = set.Parent.WithMembers(r.members())
	p.Add(MemberPermissions(set.Parent, kinds, "list"))
	anything := func() []kube.Permission { return MemberPermissions(set.Parent, kinds, "delete", "get").Required }
	if access.Check(ctx, reviewer, anything) == nil {
		return p
	}
	if members, err := set.Members(ctx); err == nil {
		gone := r.pruneCandidates(members)
		maps.DeleteFunc(gone, func(id object.ID, live *unstructured.Unstructured) bool {
			return applyset.Protection(live) != "" || r.essentialNamespaceReason(id) != ""
		})
		p.Add(access.RemovalPermissions(gone, kinds))
	}
	return p
}

// Permissions returns the permissions for deleting the set with these live
// members in this order, including those for removing the label from kept
// members.
func (d SetDeletion) Permissions(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) []kube.Permission {
	kind, _ := kinds(d.Kind)
	var p kube.Permissions
	p.Add(Permissions(d.Parent, kind, d.Namespace, d.Remover.DryRun))
	p.Add(SetDeletionPermissions(d.Parent, kind, d.Namespace))
	p.Add(access.RemovalPermissions(live, kinds))
	set, err := d.openKnown(ctx)
	if err != nil || d.Remover.DryRun { // the run reports the error
		return p.Required
	}
	if hooked, err := d.hooked(ctx, set); err == nil {
		p.Add(hookrun.Permissions(hooked.hooks, kinds, false, hooks.PreDelete, hooks.PostDelete))
	}
	for id := range d.removal(set, Members{}, &hookedDeletion{}).kept(ctx, order, live) {
		if kind, known := kinds(live[id].GroupVersionKind()); known {
			p.Required = append(p.Required, kube.Permission{Verb: "patch", Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name})
		}
	}
	return p.Required
}

// SetDeletionPermissions returns the permissions for deleting a set's records,
// in addition to Permissions.
func SetDeletionPermissions(parent object.ID, kind kube.Kind, namespace string) kube.Permissions {
	return kube.Permissions{Required: []kube.Permission{
		{Verb: "delete", Resource: kind.Resource, Namespace: parent.Namespace, Name: parent.Name},
		{Verb: "delete", Resource: lease.Kind().Resource, Namespace: namespace, Name: lease.Of(parent, namespace).Name},
	}}
}
