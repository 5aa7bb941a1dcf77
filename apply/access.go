package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Access answers what the account of a kubeconfig may do.
type Access interface {
	// Allowed tells whether it may do something; an error when the API server
	// would not say. "*" stands for every verb and resource.
	Allowed(context.Context, Permission) (bool, error)
	// Account is the user's name; "" when the API server would not say.
	Account(context.Context) string
	// Get reads one object.
	Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error)
}

// DeniedError names all that a run would need and may not do.
type DeniedError struct {
	Account string // "" when nobody knows
	Denied  []Permission
}

// Unwrap gives one error for each resource and place.
func (e *DeniedError) Unwrap() []error {
	who := "the account of your kubeconfig"
	if e.Account != "" {
		who = quote(e.Account)
	}
	var errs []error
	for n := 0; n < len(e.Denied); {
		where := e.Denied[n].Where()
		var verbs []string
		for ; n < len(e.Denied) && e.Denied[n].Where() == where; n++ {
			verbs = append(verbs, e.Denied[n].Verb)
		}
		errs = append(errs, fmt.Errorf("%s may not %s %s", who, strings.Join(verbs, ", "), where))
	}
	return errs
}

func (e *DeniedError) Error() string {
	var lines []string
	for _, err := range e.Unwrap() {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// checkers bounds the reviews in flight.
const checkers = 32

// CheckAccess asks whether everything that is required is allowed, and gives a
// *DeniedError when the API server says that something is not. What it will not
// tell is left to the requests themselves. An account that may do everything
// costs one request; required is not called for it.
func CheckAccess(ctx context.Context, access Access, required func() []Permission) error {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	if all, err := access.Allowed(ctx, everything()); all || err != nil {
		return nil //nolint:nilerr // who will not review one permission will not review any
	}
	c := checker{access: access, places: make(chan struct{}, checkers)}
	needed := required()
	denied := c.denied(ctx, withoutNames(needed))
	denied = c.denied(ctx, slices.DeleteFunc(slices.Clone(needed), func(p Permission) bool {
		return !slices.Contains(denied, p.ofAny())
	}))
	denied = c.each(ctx, denied, c.lacks)
	if len(denied) == 0 {
		return nil
	}
	return &DeniedError{Account: access.Account(ctx), Denied: shortest(denied, needed)}
}

// everything is what a cluster-admin may do.
func everything() Permission {
	all := Permission{Verb: "*"}
	all.Resource.Group, all.Resource.Version, all.Resource.Resource = "*", "*", "*"
	return all
}

// ofAny is the same permission for objects of any name.
func (p Permission) ofAny() Permission {
	p.Name = ""
	return p
}

func withoutNames(list []Permission) []Permission {
	out := make([]Permission, len(list))
	for i, p := range list {
		out[i] = p.ofAny()
	}
	slices.SortFunc(out, ComparePermissions)
	return slices.Compact(out)
}

// shortest names the resource and the namespace only, where all of its objects
// that are required are denied.
func shortest(denied, required []Permission) []Permission {
	count := func(list []Permission) map[Permission]int {
		n := map[Permission]int{}
		for _, p := range list {
			n[p.ofAny()]++
		}
		return n
	}
	wanted, lacking := count(required), count(denied)
	var out []Permission
	for _, p := range denied {
		if any := p.ofAny(); p.Namespace != "" && lacking[any] == wanted[any] {
			p = any
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Permission) int { return strings.Compare(a.Where()+" "+a.Verb, b.Where()+" "+b.Verb) })
	return slices.Compact(out)
}

// checker asks about many permissions at once.
type checker struct {
	access Access
	places chan struct{}
}

// denied are those of a list that the API server says are not allowed.
func (c checker) denied(ctx context.Context, list []Permission) []Permission {
	return c.each(ctx, list, c.forbids)
}

// each keeps those of a list of which something holds, in order.
func (c checker) each(ctx context.Context, list []Permission, holds func(context.Context, Permission) bool) []Permission {
	found := make([]bool, len(list))
	var group sync.WaitGroup
	for i, p := range list {
		c.places <- struct{}{}
		group.Go(func() {
			found[i] = holds(ctx, p)
			<-c.places
		})
	}
	group.Wait()
	var out []Permission
	for i, p := range list {
		if found[i] {
			out = append(out, p)
		}
	}
	return out
}

func (c checker) forbids(ctx context.Context, p Permission) bool {
	allowed, err := c.access.Allowed(ctx, p)
	return err == nil && !allowed
}

// lacks tells whether a permission that was denied is missed: nobody creates
// what is there, and what may be listed and watched need not be got.
func (c checker) lacks(ctx context.Context, p Permission) bool {
	switch p.Verb {
	case "create":
		_, err := c.access.Get(ctx, p.kind(), p.Namespace, p.Name)
		return err != nil
	case "get":
		list, watch := p.ofAny(), p.ofAny()
		list.Verb, watch.Verb = "list", "watch"
		return c.forbids(ctx, list) || c.forbids(ctx, watch)
	}
	return true
}
