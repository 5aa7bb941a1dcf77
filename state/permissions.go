package state

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// Permissions returns the permissions that storing a set requires, in addition
// to its members': for its parent, which is served as kind; for its Lease and
// its history in a namespace; and for the cluster ID. A dry run only reads the
// parent.
func Permissions(parent object.ID, kind kube.Kind, namespace string, dryRun bool) kube.Permissions {
	about := func(kind kube.Kind, namespace, name string, verbs ...string) []kube.Permission {
		var out []kube.Permission
		for _, verb := range verbs {
			out = append(out, kube.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace, Name: name})
		}
		return out
	}
	var p kube.Permissions
	if kind.Resource.Group != "" { // see set.CheckParentKind
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

// ValuesPermissions returns the permissions for keeping the values of a stream's Secrets in
// their own namespaces, where these are not the history's. They are optional: a run without
// them keeps no values.
func ValuesPermissions(parent object.ID, home string, resources []object.ID) kube.Permissions {
	secrets, seen := kube.CoreKind("secrets").Resource, map[string]bool{home: true}
	var p kube.Permissions
	for _, id := range slices.SortedFunc(slices.Values(resources), object.Compare) {
		if id.Group != "" || id.Kind != "Secret" || seen[id.Namespace] {
			continue
		}
		seen[id.Namespace] = true
		p.Optional = append(p.Optional, kube.Permission{Verb: "create", Resource: secrets, Namespace: id.Namespace})
		for _, verb := range []string{"get", "patch", "delete"} {
			p.Optional = append(p.Optional, kube.Permission{Verb: verb, Resource: secrets, Namespace: id.Namespace, Name: history.ValuesName(parent)})
		}
	}
	return p
}

// MemberPermissions returns the permissions for verbs on every object that
// may be a member of a set: all objects of its kinds in its namespaces.
func MemberPermissions(promise applyset.Parent, kinds kube.Kinds, verbs ...string) kube.Permissions {
	namespaces := (&set.Set{Parent: promise}).Namespaces()
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

// ViewPermissions returns the permissions for showing a set and its members, once or
// continuously. Only the latter lists the parent; without that permission the whole set is
// read every time. Without that for the Lease, the holder of the lock is not shown.
func ViewPermissions(promise applyset.Parent, kind kube.Kind, namespace string, kinds kube.Kinds) kube.Permissions {
	p := MemberPermissions(promise, kinds, "list")
	p.Required = append(p.Required, kube.Permission{Verb: "list", Resource: kube.CoreKind("secrets").Resource, Namespace: namespace})
	p.Optional = append(p.Optional, kube.Permission{Verb: "list", Resource: kind.Resource, Namespace: promise.ID.Namespace, Name: promise.ID.Name},
		kube.Permission{Verb: "get", Resource: lease.Kind().Resource, Namespace: namespace, Name: lease.Of(promise.ID, namespace).Name})
	return p
}

// Permissions returns the permissions that the run requires in addition to its
// members'. For a user who may not delete every possible member it reads the
// prune candidates; the run reports errors.
func (r Run) Permissions(ctx context.Context, reviewer access.Reviewer, kinds kube.Kinds) kube.Permissions {
	r = r.withDefaults()
	kind, _ := kinds(r.Kind)
	var p kube.Permissions
	p.Add(Permissions(r.Parent, kind, r.Namespace, r.Applier.DryRun))
	if !r.Applier.DryRun && r.Metadata.Keep != history.KeepNone {
		p.Add(ValuesPermissions(r.Parent, r.Namespace, slices.Collect(maps.Keys(r.Stream.Objects))))
	}
	p.Add(r.takeOverPermissions(ctx, kinds))
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
	for _, record := range set.TakenFrom() {
		p.Add(r.leftPermissions(ctx, record, kinds))
	}
	set.Parent = set.Parent.WithMembers(r.members())
	p.Add(MemberPermissions(set.Parent, kinds, "list"))
	anything := func() []kube.Permission {
		return MemberPermissions(set.Parent, kinds, "delete", "get", "patch").Required
	}
	if access.Check(ctx, reviewer, anything) == nil {
		return p
	}
	if members, err := set.Members(ctx); err == nil {
		gone := r.pruneCandidates(members)
		maps.DeleteFunc(gone, func(id object.ID, live *unstructured.Unstructured) bool {
			if applyset.Protection(live, applyset.Prune) != "" {
				p.Required = append(p.Required, releasePermissions(id, live, kinds)...)
				return true
			}
			return r.essentialNamespaceReason(id) != ""
		})
		p.Add(access.RemovalPermissions(gone, kinds))
	}
	return p
}

// TakeOverPermissions returns the permissions that TakeOver requires for the records of other
// tools, which hold objects of the stream. Of a record that may not be read, it does not know
// the objects.
func (r Run) TakeOverPermissions(ctx context.Context, kinds kube.Kinds) kube.Permissions {
	return r.withDefaults().takeOverPermissions(ctx, kinds)
}

func (r Run) takeOverPermissions(ctx context.Context, kinds kube.Kinds) kube.Permissions {
	var p kube.Permissions
	if !r.TakeOver {
		return p
	}
	adopted := r.outsideOfSet(ctx)
	for _, ref := range inventory.RefsOfAll(adopted) {
		p.Add(ref.Permissions(kinds))
	}
	records, _ := inventory.Of(ctx, r.Cluster, adopted) // the run reports the error
	for _, record := range records {
		p.Add(r.leftPermissions(ctx, record, kinds))
	}
	return p
}

// leftPermissions returns the permissions for finding the objects left in a record, and pruning
// them.
func (r Run) leftPermissions(ctx context.Context, record inventory.Inventory, kinds kube.Kinds) kube.Permissions {
	var p kube.Permissions
	for _, id := range record.Objects {
		kind, known := kinds(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
		if known && !r.containsOrHooks(id) {
			p.Required = append(p.Required, kube.Permission{Verb: "get", Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name})
		}
	}
	if !r.Prune {
		return p
	}
	left, _ := r.leftIn(ctx, record) // the run reports the error
	for id, live := range left {
		p.Required = append(p.Required, releasePermissions(id, live, kinds)...) // to become members
	}
	p.Add(access.RemovalPermissions(left, kinds))
	return p
}

// Permissions returns the permissions for deleting the set with these live
// members in this order, and for removing the label from kept members.
func (d SetDeletion) Permissions(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) []kube.Permission {
	kind, _ := kinds(d.Kind)
	var p kube.Permissions
	p.Add(Permissions(d.Parent, kind, d.Namespace, d.Remover.DryRun))
	p.Add(SetDeletionPermissions(d.Parent, kind, d.Namespace))
	p.Add(access.RemovalPermissions(live, kinds))
	opened, err := d.openKnown(ctx)
	if err != nil || d.Remover.DryRun { // the run reports the error
		return p.Required
	}
	if hooked, err := d.hooked(ctx, opened); err == nil {
		p.Add(hooks.Permissions(hooked.hooks, kinds, false, hook.PreDelete, hook.PostDelete))
	}
	for id := range d.removal(opened, set.Members{}, &hookedDeletion{}).kept(ctx, order, live) {
		p.Required = append(p.Required, releasePermissions(id, live[id], kinds)...)
	}
	return p.Required
}

// releasePermissions returns the permissions for releasing a member that is kept, or for
// making an object a member.
func releasePermissions(id object.ID, live *unstructured.Unstructured, kinds kube.Kinds) []kube.Permission {
	kind, known := kinds(live.GroupVersionKind())
	if !known {
		return nil
	}
	return []kube.Permission{
		{Verb: "get", Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name},
		{Verb: "patch", Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name},
	}
}

// SetDeletionPermissions returns the permissions for deleting a set's records,
// in addition to Permissions.
func SetDeletionPermissions(parent object.ID, kind kube.Kind, namespace string) kube.Permissions {
	return kube.Permissions{Required: []kube.Permission{
		{Verb: "delete", Resource: kind.Resource, Namespace: parent.Namespace, Name: parent.Name},
		{Verb: "delete", Resource: lease.Kind().Resource, Namespace: namespace, Name: lease.Of(parent, namespace).Name},
	}}
}
