package kube

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is one action that the user must be allowed to take.
type Permission struct {
	Verb        string // "get", "patch"; "*" for every one
	Resource    schema.GroupVersionResource
	Subresource string // "log" for pods/log; "" for none
	Namespace   string // "" for cluster-scoped resources
	Name        string // of the object; "" for any
}

// Permissions are a run's requirements, in addition to discovery, which every
// user may read. Each list is sorted and without duplicates.
type Permissions struct {
	// Required are the permissions without which a run fails.
	Required []Permission
	// Optional are the permissions that save requests or improve diagnoses.
	Optional []Permission
	// Unknown are the kinds whose resource is not known, so that no permission
	// can be named.
	Unknown []schema.GroupKind
}

// Add adds the permissions of another part of the same run, and sorts.
func (p *Permissions) Add(q Permissions) {
	p.Required = append(p.Required, q.Required...)
	p.Optional = append(p.Optional, q.Optional...)
	p.Unknown = append(p.Unknown, q.Unknown...)
	p.Sort()
}

// Sort orders the permissions and drops duplicates.
func (p *Permissions) Sort() {
	for _, list := range []*[]Permission{&p.Required, &p.Optional} {
		slices.SortFunc(*list, ComparePermissions)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(p.Unknown, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	p.Unknown = slices.Compact(p.Unknown)
}

// ComparePermissions orders permissions by namespace and resource, then by verb
// and name. It returns a negative number, 0 or a positive number.
func ComparePermissions(a, b Permission) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Resource.Group, b.Resource.Group),
		cmp.Compare(a.Resource.Resource, b.Resource.Resource),
		cmp.Compare(a.Subresource, b.Subresource),
		cmp.Compare(a.Verb, b.Verb),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Resource.Version, b.Resource.Version),
	)
}

// What returns the resource as kubectl names it: deployments.apps, pods/log.
func (p Permission) What() string {
	what := p.Resource.GroupResource().String()
	if p.Subresource != "" {
		what += "/" + p.Subresource
	}
	return what
}

// Where describes the permission without the verb: `configmaps "settings" in
// namespace "shop"`.
func (p Permission) Where() string {
	text := p.What()
	if p.Name != "" {
		text += " " + quote(p.Name)
	}
	if p.Namespace != "" {
		text += " in namespace " + quote(p.Namespace)
	}
	return text
}

// String returns the verb and Where.
func (p Permission) String() string { return p.Verb + " " + p.Where() }

func quote(s string) string { return `"` + s + `"` }

// Kind returns the kind that the permission is about, with the fields that
// requests need.
func (p Permission) Kind() Kind {
	return Kind{Resource: p.Resource, Namespaced: p.Namespace != ""}
}

// OfAnyName returns the same permission for objects of any name.
func (p Permission) OfAnyName() Permission {
	p.Name = ""
	return p
}
