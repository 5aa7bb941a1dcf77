package operation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/rbac"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
)

// Roles prints the minimal Roles for an apply, whose options it has, and for what else an account
// does with the same stream.
type Roles struct {
	Apply
	// Delete also allows deleting the objects of the manifests.
	Delete bool
	// Rollback also allows applying any stored revision of the apply set, and pruning.
	Rollback bool
	// Status also allows reading the status and the history of the apply set. Without manifests
	// and other actions it allows only that.
	Status bool
	// Name is the name of the Roles and their bindings.
	Name string
	// ServiceAccount, as NAMESPACE/NAME, User and Group are the account to bind the Roles to.
	ServiceAccount, User, Group string
}

// NewRoles returns the default options.
func NewRoles() Roles { return Roles{Apply: NewApply(), Name: "ordapply"} }

// RunOn prints the Roles.
func (r Roles) RunOn(ctx context.Context, c *console.Console) error {
	subject, err := rbac.Subject{ServiceAccount: r.ServiceAccount, User: r.User, Group: r.Group}.YAML()
	if err != nil {
		return err
	}
	guess := &guessedPlurals{}
	source := r.source()
	if err := errors.Join(r.checkSet(), source.CheckSet(r.Set)); err != nil {
		return err
	}
	if r.onlyReads() && !source.IsGiven(c) {
		rules, err := r.readers(ctx, c)
		if err != nil {
			return err
		}
		return r.print(c, subject, rules, []string{"The permissions that ordapply status and history need for apply set " + plain.Line(r.Set) + ", and no others: nothing may be written."})
	}
	w, err := r.load(ctx, c, source, guess.kind)
	if err != nil {
		return err
	}
	needed, notes, err := r.required(ctx, c, w)
	if err != nil {
		return err
	}
	rules := rbac.RulesOf(needed)
	return r.print(c, subject, rules, slices.Concat(r.notes(w, rules), rules.Wide(), notes, guess.notes()))
}

// print prints Roles, with notes before them.
func (r *Roles) print(c *console.Console, subject string, rules rbac.Rules, notes []string) error {
	var out strings.Builder
	for _, line := range notes {
		plain.Fprintln(&out, "#", line)
	}
	if subject == "" {
		plain.Fprintln(&out, "# Not bound to an account: name one with --service-account, --user or --group.")
	}
	out.WriteString(rules.YAML(r.Name, subject))
	_, err := c.Out.Write([]byte(out.String()))
	return err
}

// load reads and plans the stream, for the cluster if there is one. guess is
// used for kinds that neither the cluster nor Kubernetes defines.
func (r *Roles) load(ctx context.Context, c *console.Console, source input.Source, guess kube.Kinds) (w rolesRequest, err error) {
	inputs, options, err := source.ReadAll(ctx, c, connect.ScopeOf(r.Cluster, r.Set))
	if err != nil {
		return w, err
	}
	w.scope = apply.Scope{Namespace: cmp.Or(*r.Cluster.Namespace, "default")}
	w.kinds = kube.Kinds(kube.OwnKinds).Or(guess)
	switch t, err := connect.To(ctx, c, r.Cluster); {
	case err == nil:
		if _, _, err := connect.UseSet(ctx, t, r.Set); err != nil {
			return w, err
		}
		w.target, w.scope, w.kinds = t, t.Scope, kube.KindsOf(t.Cluster).Or(w.kinds)
	case ctx.Err() != nil:
		return w, err
	case !errors.Is(err, connect.ErrNoCluster):
		plain.Fprintf(c.Err, "without a cluster: %s\n", err.Error())
	}
	w.scope.Kind, w.scope.Enforce = w.kinds, w.scope.Enforce && r.Set == ""
	if w.stream, w.plan, err = source.PlanStream(inputs, w.scope, &options, w.target); err != nil {
		return w, err
	}
	w.kinds = kube.StreamKinds(w.stream.Objects).Or(w.kinds)
	return w, nil
}

// required returns all required permissions, and remarks on them.
func (r *Roles) required(ctx context.Context, c *console.Console, w rolesRequest) (kube.Permissions, []string, error) {
	assessor, err := input.Assessor(ctx, c, r.Health)
	if err != nil {
		return kube.Permissions{}, nil, err
	}
	ungated, err := input.Gates(w.plan, w.stream, true)
	if err != nil {
		return kube.Permissions{}, nil, err
	}
	applier := apply.Applier{Health: assessor, NoDiagnosis: !r.Diagnosis, SkipWait: ungated}
	namespace := ""
	if r.CreateNamespace {
		namespace = w.namespace()
	}
	all := r.streamPermissions(applier, w.stream, w.plan, w.kinds, namespace, false)
	if r.Delete {
		all.Add(access.RemovalPermissions(w.stream.Objects, w.kinds))
		all.Add(rbac.HookPermissions(w.stream, w.plan.OrderSource, w.kinds, r.Diagnosis, false, hook.PreDelete, hook.PostDelete))
	}
	if r.Set != "" {
		all.Add(rbac.HookPermissions(w.stream, w.plan.OrderSource, w.kinds, r.Diagnosis, true))
	}
	all = rbac.ByKind(all)
	if r.Set == "" {
		return all, nil, nil
	}
	applier.SkipWait = nil // all resources of a revision are waited for
	more, notes, err := r.setPermissions(ctx, w, applier)
	if err != nil {
		return all, nil, err
	}
	all.Add(more)
	return all, notes, nil
}

// notes returns notes about the Roles for the user.
func (r *Roles) notes(w rolesRequest, rules rbac.Rules) []string {
	lines := []string{"The permissions that ordapply apply needs for these manifests, and no others."}
	var first []string
	var granting []string
	if r.CreateNamespace && rules[w.namespace()] != nil {
		first = append(first, w.namespace())
	}
	for _, s := range w.plan.Steps {
		switch {
		case s.ID.GroupKind() == "Namespace" && rules[s.ID.Name] != nil && !slices.Contains(first, s.ID.Name):
			first = append(first, s.ID.Name)
		case s.ID.Group == rbac.Group:
			granting = append(granting, s.ID.String())
		}
	}
	for _, name := range first {
		lines = append(lines, "The namespace of a Role must exist before the Role: kubectl create namespace "+name)
	}
	if len(granting) > 0 {
		lines = append(lines,
			"The manifests grant permissions ("+strings.Join(granting, ", ")+"). The API server rejects a grant of",
			"permissions that the account lacks: allow them here too, or the verbs escalate (on Roles) and bind (on the Roles of bindings).")
	}
	return lines
}

// guessedPlurals records guessed plural names of kinds.
type guessedPlurals struct {
	made []string
}

// kind guesses the resource name of a kind.
func (g *guessedPlurals) kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	text := gvk.GroupKind().String() + " is assumed to be served as " + plural.Resource
	if !slices.Contains(g.made, text) {
		g.made = append(g.made, text)
	}
	return kube.Kind{Resource: plural, Namespaced: true}, true
}

func (g *guessedPlurals) notes() []string {
	var lines []string
	for _, text := range g.made {
		lines = append(lines, "Guessed, because neither the stream nor a cluster defines it: "+text+".")
	}
	return lines
}
