package apply

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is one thing that an account must be allowed to do.
type Permission struct {
	Verb        string
	Resource    schema.GroupVersionResource
	Subresource string // "log" of pods/log; "" for none
	Namespace   string // "" for what lives in none
	Name        string // the object that it is about; "" for any
}

// Permissions are what a run asks of an API server beside discovery, which is
// open to everybody. Each list is sorted and names nothing twice.
type Permissions struct {
	// Required is what a run cannot do without.
	Required []Permission
	// Optional is what makes it cheaper, or lets it tell more.
	Optional []Permission
	// Unknown are kinds of which nobody knows as what resource they are served.
	Unknown []schema.GroupKind
}

// Add joins the permissions of something that is done in the same run.
func (p *Permissions) Add(q Permissions) {
	p.Required = append(p.Required, q.Required...)
	p.Optional = append(p.Optional, q.Optional...)
	p.Unknown = append(p.Unknown, q.Unknown...)
	p.tidy()
}

func (p *Permissions) tidy() {
	for _, list := range []*[]Permission{&p.Required, &p.Optional} {
		slices.SortFunc(*list, ComparePermissions)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(p.Unknown, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	p.Unknown = slices.Compact(p.Unknown)
}

// ComparePermissions orders permissions by where they hold, then by what they
// are for.
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

// What names the resource as kubectl does: deployments.apps, pods/log.
func (p Permission) What() string {
	what := p.Resource.GroupResource().String()
	if p.Subresource != "" {
		what += "/" + p.Subresource
	}
	return what
}

// Where names what the permission is about, without the verb: `configmaps
// "settings" in namespace "shop"`.
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

func (p Permission) String() string { return p.Verb + " " + p.Where() }

func quote(s string) string { return `"` + s + `"` }

// kind is the kind that the permission is about, as far as requests need it.
func (p Permission) kind() Kind {
	return Kind{Resource: p.Resource, Namespaced: p.Namespace != ""}
}
