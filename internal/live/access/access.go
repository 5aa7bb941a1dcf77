// Package access lists the permissions that a run requires, and asks the API server which of
// them the account lacks. The same list is printed as Roles.
//
//	needed := access.Run{Health: assessor, …}.Permissions(plan, objects, kinds)
//	err := access.Check(ctx, cluster, func() []kube.Permission { return needed.Required }) // "dev" may not patch jobs in namespace "shop"
package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
)

// Reviewer reviews the permissions of a kubeconfig's user.
type Reviewer interface {
	// Allowed reports whether the user has a permission. It returns an error
	// when the API server does not answer the review. "*" stands for every
	// verb and resource.
	Allowed(context.Context, kube.Permission) (bool, error)
	// User returns the user's name; "" when the API server does not report
	// it.
	User(context.Context) string
	// Get reads one object.
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
}

// DeniedError lists the permissions that a run requires and the user does not
// have.
type DeniedError struct {
	User   string            // "" when unknown
	Denied []kube.Permission // sorted by resource, then by verb
}

// Unwrap returns one error for each resource and namespace.
func (e *DeniedError) Unwrap() []error {
	who := "the account of your kubeconfig"
	if e.User != "" {
		who = `"` + e.User + `"`
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

// Error returns one line for each of the errors of Unwrap.
func (e *DeniedError) Error() string {
	var lines []string
	for _, err := range e.Unwrap() {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// maxReviews bounds the access reviews in flight.
const maxReviews = 32

// reviewTimeout bounds the review of all permissions, and those of single ones together.
const reviewTimeout = 30 * time.Second

// Check reviews every required permission and returns a *DeniedError
// when the API server denies one. A review that fails is not an error: the run's
// own requests then show the denials. A user with all permissions costs one
// review; required is not called then.
func Check(ctx context.Context, access Reviewer, required func() []kube.Permission) error {
	if NeedsNoReview(ctx, access) {
		return nil
	}
	return CheckEach(ctx, access, required())
}

// NeedsNoReview reports whether the user has all permissions. It is true, too, when the API server
// does not answer: further reviews would fail as well.
func NeedsNoReview(ctx context.Context, access Reviewer) bool {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	all, err := access.Allowed(ctx, allPermissions())
	return all || err != nil
}

// CheckEach is Check for a user who may lack permissions.
func CheckEach(ctx context.Context, access Reviewer, needed []kube.Permission) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	c := checker{access}
	denied := c.denied(ctx, dedupeWithoutNames(needed))
	denied = c.denied(ctx, slices.DeleteFunc(slices.Clone(needed), func(p kube.Permission) bool {
		return !slices.Contains(denied, p.OfAnyName())
	}))
	denied = c.filter(ctx, denied, c.isMissing)
	if len(denied) == 0 {
		return nil
	}
	return &DeniedError{User: access.User(ctx), Denied: summarizeDenied(denied, needed)}
}

// allPermissions returns the permission that a cluster-admin has.
func allPermissions() kube.Permission {
	all := kube.Permission{Verb: "*"}
	all.Resource.Group, all.Resource.Version, all.Resource.Resource = "*", "*", "*"
	return all
}

func dedupeWithoutNames(list []kube.Permission) []kube.Permission {
	out := make([]kube.Permission, len(list))
	for i, p := range list {
		out[i] = p.OfAnyName()
	}
	slices.SortFunc(out, kube.ComparePermissions)
	return slices.Compact(out)
}

// summarizeDenied drops the name from denied permissions where every required object
// of that resource and namespace is denied.
func summarizeDenied(denied, required []kube.Permission) []kube.Permission {
	count := func(list []kube.Permission) map[kube.Permission]int {
		n := map[kube.Permission]int{}
		for _, p := range list {
			n[p.OfAnyName()]++
		}
		return n
	}
	wanted, lacking := count(required), count(denied)
	var out []kube.Permission
	for _, p := range denied {
		if any := p.OfAnyName(); p.Namespace != "" && lacking[any] == wanted[any] {
			p = any
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b kube.Permission) int {
		return cmp.Or(strings.Compare(a.Where(), b.Where()), strings.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(out)
}

// checker reviews many permissions concurrently.
type checker struct{ access Reviewer }

// denied returns the permissions of a list that the API server denies.
func (c checker) denied(ctx context.Context, list []kube.Permission) []kube.Permission {
	return c.filter(ctx, list, c.isDenied)
}

// filter returns the permissions of a list for which holds is true, in order.
func (c checker) filter(ctx context.Context, list []kube.Permission, holds func(context.Context, kube.Permission) bool) []kube.Permission {
	found := make([]bool, len(list))
	activity.Each(len(list), maxReviews, func(i int) { found[i] = holds(ctx, list[i]) })
	var out []kube.Permission
	for i, p := range list {
		if found[i] {
			out = append(out, p)
		}
	}
	return out
}

func (c checker) isDenied(ctx context.Context, p kube.Permission) bool {
	allowed, err := c.access.Allowed(ctx, p)
	return err == nil && !allowed
}

// isMissing reports whether a denied permission is really required: create is not
// for an object that exists, and get is not where list and watch are allowed.
func (c checker) isMissing(ctx context.Context, p kube.Permission) bool {
	switch p.Verb {
	case "create":
		_, err := c.access.Get(ctx, p.Kind(), p.Namespace, p.Name)
		return err != nil
	case "get":
		list, watch := p.OfAnyName(), p.OfAnyName()
		list.Verb, watch.Verb = "list", "watch"
		return c.isDenied(ctx, list) || c.isDenied(ctx, watch)
	}
	return true
}
