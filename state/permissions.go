package state

import (
	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
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
	if dryRun {
		p.Add(apply.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get")})
		return p
	}
	p.Add(apply.Permissions{Required: about(kind, parent.Namespace, parent.Name, "get", "create", "patch")})
	p.Add(apply.Permissions{Required: about(leaseKind(), namespace, LeaseOf(parent, namespace).Name, "get", "update")})
	p.Add(apply.Permissions{Required: about(leaseKind(), namespace, "", "create")}) // which is asked for without a name
	p.Add(apply.Permissions{Required: about(secretKind(), namespace, "", "create", "delete", "get", "list", "patch")})
	p.Add(apply.Permissions{Optional: about(apply.Kind{Resource: secretKind().Resource.GroupVersion().WithResource("namespaces")}, "", "kube-system", "get")})
	return p
}
