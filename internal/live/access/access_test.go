package access_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/kube"
)

// reviews are the answers of an API server about a user.
type reviews struct {
	allowed []string // permissions as text, such as `get configmaps in namespace "shop"`; the others are denied
	unknown []string // permissions whose review fails
	exists  bool     // whether Get finds every object
	silent  bool     // it answers nothing
	user    string

	mu    sync.Mutex
	asked []string
}

func (r *reviews) Allowed(ctx context.Context, p kube.Permission) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, p.String())
	if r.silent {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if slices.Contains(r.unknown, p.String()) {
		return false, errors.New("no answer")
	}
	return slices.Contains(r.allowed, p.String()), nil
}

func (r *reviews) User(context.Context) string { return r.user }

func (r *reviews) Get(context.Context, kube.Kind, string, string) (*unstructured.Unstructured, error) {
	if r.exists {
		return &unstructured.Unstructured{}, nil
	}
	return nil, errors.New("not found")
}

// permission returns the permission of "verb resource namespace name"; "-" is none.
func permission(text string) kube.Permission {
	f := strings.Fields(text)
	return kube.Permission{Verb: f[0], Resource: kube.CoreKind(f[1]).Resource, Namespace: strings.Trim(f[2], "-"), Name: strings.Trim(f[3], "-")}
}

// A denied permission ends a run only if the run needs it: it needs no create for an existing
// object, and no get with list and watch. Without an answer the run goes on.
func TestCheck(t *testing.T) {
	maps := []string{"patch configmaps shop a", "patch configmaps shop b"}
	for name, c := range map[string]struct {
		api      *reviews
		required []string
		want     string // the error; "" for none
		asked    int    // the number of reviews
	}{
		"all permissions":              {&reviews{allowed: []string{"* *.*"}}, maps, "", 1},
		"no answer at all":             {&reviews{unknown: []string{"* *.*"}}, maps, "", 1},
		"a whole namespace":            {&reviews{allowed: []string{`patch configmaps in namespace "shop"`}}, maps, "", 2},
		"each object by its name":      {&reviews{allowed: []string{`patch configmaps "a" in namespace "shop"`, `patch configmaps "b" in namespace "shop"`}}, maps, "", 4},
		"one object by its name":       {&reviews{allowed: []string{`patch configmaps "a" in namespace "shop"`}}, maps, `the account of your kubeconfig may not patch configmaps "b" in namespace "shop"`, 4},
		"no object":                    {&reviews{}, maps, `the account of your kubeconfig may not patch configmaps in namespace "shop"`, 4},
		"no object of no namespace":    {&reviews{}, []string{"patch namespaces - a"}, `the account of your kubeconfig may not patch namespaces "a"`, 3},
		"no answer about one":          {&reviews{unknown: []string{`patch configmaps "b" in namespace "shop"`}}, maps, `the account of your kubeconfig may not patch configmaps "a" in namespace "shop"`, 4},
		"no answer about a namespace":  {&reviews{unknown: []string{`patch configmaps in namespace "shop"`}}, maps, "", 2},
		"create of an existing object": {&reviews{exists: true}, []string{"create configmaps shop a"}, "", 3},
		"create of a new object":       {&reviews{user: "dev"}, []string{"create configmaps shop a"}, `"dev" may not create configmaps in namespace "shop"`, 3},
		"get, and may list and watch":  {&reviews{allowed: []string{`list configmaps in namespace "shop"`, `watch configmaps in namespace "shop"`}}, []string{"get configmaps shop a"}, "", 5},
		"get, and may only list":       {&reviews{allowed: []string{`list configmaps in namespace "shop"`}}, []string{"get configmaps shop a"}, `the account of your kubeconfig may not get configmaps in namespace "shop"`, 5},
		"get, and may only watch":      {&reviews{allowed: []string{`watch configmaps in namespace "shop"`}}, []string{"get configmaps shop a"}, `the account of your kubeconfig may not get configmaps in namespace "shop"`, 4},
		"of all namespaces and of one": {&reviews{user: "dev"}, []string{"patch secrets - -", "patch secrets shop a", "delete secrets - -"},
			"\"dev\" may not delete, patch secrets\n\"dev\" may not patch secrets in namespace \"shop\"", 7},
		"several verbs and places": {&reviews{user: "dev"}, append(maps, "create configmaps shop a", "create configmaps shop b", "patch secrets shop c", "delete configmaps blog d"),
			"\"dev\" may not delete configmaps in namespace \"blog\"\n\"dev\" may not create, patch configmaps in namespace \"shop\"\n\"dev\" may not patch secrets in namespace \"shop\"", 11},
	} {
		t.Run(name, func(t *testing.T) {
			var required []kube.Permission
			for _, text := range c.required {
				required = append(required, permission(text))
			}
			before, called := slices.Clone(required), false
			err := access.Check(t.Context(), c.api, func() []kube.Permission { called = true; return required })
			require.Equal(t, before, required)
			require.Equal(t, c.asked > 1, called)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.IsType(t, &access.DeniedError{}, err)
				require.EqualError(t, err, c.want)
			}
			require.Len(t, c.api.asked, c.asked)
		})
	}
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, access.Check(t.Context(), &reviews{silent: true}, nil))
		})
	})
}
