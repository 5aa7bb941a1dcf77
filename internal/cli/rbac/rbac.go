// Package rbac prints the minimal Roles for applying a stream, and has the permissions
// that the parts of a run need:
//
//	ordapply rbac -f app.yaml --service-account ci/deployer | kubectl apply -f -
package rbac

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/operation/option"
)

// rbacFlags are the flags of rbac.
type rbacFlags struct {
	input.Source
	option.Health
	subjectFlags
	rbacSetFlags
	cluster   *genericclioptions.ConfigFlags
	name      string
	diagnosis bool
	newSpace  bool // --create-namespace
}

// NewCommand returns the command rbac.
func NewCommand(c *console.Console) *cobra.Command {
	f := rbacFlags{cluster: genericclioptions.NewConfigFlags(true)}
	f.cluster.AuthInfoName = nil // --user is the subject to bind
	cmd := &cobra.Command{
		Use:   "rbac -f FILE",
		Short: "Print the minimal Roles for applying a stream",
		Long: `rbac prints a Role for each namespace of a stream, and a ClusterRole for
cluster-scoped resources, with only the permissions that apply needs. The plural
names of kinds come from CustomResourceDefinitions in the stream, else from the
cluster, else from a built-in table.`,
		Example: `  kustomize build . | ordapply rbac --service-account ci/deployer | kubectl apply -f -
  ordapply rbac -f app.yaml -n shop --user jane
  ordapply rbac -f app.yaml -n shop --applyset shop --prune --service-account ci/deployer`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), c) },
	}
	set := cmd.Flags()
	flags.Manifests(set, &f.Manifests)
	flags.Planning(set, &f.Planning)
	flags.Health(set, &f.Health)
	f.subjectFlags.register(set)
	flags.Cluster(set, f.cluster)
	set.StringVar(&f.name, "name", "ordapply", "name of the Roles and their bindings")
	f.rbacSetFlags.register(set)
	set.BoolVar(&f.newSpace, "create-namespace", false, "also allow creating the namespace of -n")
	set.BoolVar(&f.diagnosis, "diagnosis", true, "also allow diagnosing why a resource did not become ready")
	return cmd
}

func (f *rbacFlags) run(ctx context.Context, c *console.Console) error {
	subject, err := f.subject()
	if err != nil {
		return err
	}
	guess := &guessedPlurals{}
	if err := errors.Join(f.rbacSetFlags.check(), f.CheckSet(f.set)); err != nil {
		return err
	}
	w, err := f.load(ctx, c, guess.kind)
	if err != nil {
		return err
	}
	needed, notes, err := f.permissions(ctx, c, w)
	if err != nil {
		return err
	}
	rules := rulesByNamespace(needed)
	var out strings.Builder
	for _, line := range slices.Concat(f.notes(w, rules), wide(rules), notes, guess.notes()) {
		plain.Fprintln(&out, "#", line)
	}
	if subject == "" {
		plain.Fprintln(&out, "# Not bound to an account: name one with --service-account, --user or --group.")
	}
	out.WriteString(writeRoles(f.name, rules, subject))
	_, err = c.Out.Write([]byte(out.String()))
	return err
}

// load reads and plans the stream, for the cluster if there is one. guess is
// used for kinds that neither the cluster nor Kubernetes defines.
func (f *rbacFlags) load(ctx context.Context, c *console.Console, guess kube.Kinds) (w rbacRequest, err error) {
	inputs, options, err := f.ReadAll(ctx, c, connect.ScopeOf(f.cluster, f.set))
	if err != nil {
		return w, err
	}
	w.scope = apply.Scope{Namespace: cmp.Or(*f.cluster.Namespace, "default")}
	w.kinds = kube.Kinds(kube.OwnKinds).Or(guess)
	switch t, err := connect.To(ctx, c, f.cluster); {
	case err == nil:
		if err := connect.UseSet(ctx, t, f.set); err != nil {
			return w, err
		}
		w.target, w.scope, w.kinds = t, t.Scope, kube.KindsOf(t.Cluster).Or(w.kinds)
	case ctx.Err() != nil:
		return w, err
	case !errors.Is(err, connect.ErrNoCluster):
		plain.Fprintf(c.Err, "without a cluster: %s\n", err.Error())
	}
	w.scope.Kind, w.scope.Enforce = w.kinds, w.scope.Enforce && f.set == ""
	if w.stream, w.plan, err = f.PlanStream(inputs, w.scope, &options, w.target); err != nil {
		return w, err
	}
	w.kinds = kube.StreamKinds(w.stream.Objects).Or(w.kinds)
	return w, nil
}

// permissions returns all required permissions, and remarks on them.
func (f *rbacFlags) permissions(ctx context.Context, c *console.Console, w rbacRequest) (kube.Permissions, []string, error) {
	assessor, err := input.Assessor(ctx, c, f.Health)
	if err != nil {
		return kube.Permissions{}, nil, err
	}
	ungated, err := input.Gates(w.plan, w.stream, true)
	if err != nil {
		return kube.Permissions{}, nil, err
	}
	applier := apply.Applier{Health: assessor, NoDiagnosis: !f.diagnosis, SkipWait: ungated}
	all := applier.Permissions(w.plan, w.stream.Objects, w.kinds)
	all.Add(HookPermissions(w.stream, w.plan.OrderSource, w.kinds, f.diagnosis, false))
	if f.remove {
		all.Add(access.RemovalPermissions(w.stream.Objects, w.kinds))
		all.Add(HookPermissions(w.stream, w.plan.OrderSource, w.kinds, f.diagnosis, false, hook.PreDelete, hook.PostDelete))
	}
	if f.newSpace {
		all.Add(apply.NamespacePermissions(w.namespace()))
	}
	if f.set != "" {
		all.Add(HookPermissions(w.stream, w.plan.OrderSource, w.kinds, f.diagnosis, true))
	}
	all = byKind(all)
	if f.set == "" {
		return all, nil, nil
	}
	applier.SkipWait = nil // all resources of a revision are waited for
	more, notes, err := f.setPermissions(ctx, w, applier)
	if err != nil {
		return all, nil, err
	}
	all.Add(more)
	return all, notes, nil
}

// notes returns notes about the Roles for the user.
func (f *rbacFlags) notes(w rbacRequest, rules map[string][]rule) []string {
	lines := []string{"The permissions that ordapply apply needs for these manifests, and no others."}
	var first []string
	var granting []string
	if f.newSpace && rules[w.namespace()] != nil {
		first = append(first, w.namespace())
	}
	for _, s := range w.plan.Steps {
		switch {
		case s.ID.GroupKind() == "Namespace" && rules[s.ID.Name] != nil && !slices.Contains(first, s.ID.Name):
			first = append(first, s.ID.Name)
		case s.ID.Group == rbacGroup:
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
