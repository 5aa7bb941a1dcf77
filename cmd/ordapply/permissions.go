package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/access"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state"
)

// permissions returns the permissions that applying the job's stream requires.
func (f *applyFlags) permissions(ctx context.Context, j session) []kube.Permission {
	a := apply.Applier{DryRun: f.dryRun == "server", Health: j.assessor, NoDiagnosis: !f.diagnosis, SkipWait: j.ungated}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.cluster))
	all := a.Permissions(j.plan, j.stream.Objects, kinds)
	if f.dryRun != "server" {
		all.Add(hookPermissions(j.stream, kinds, f.diagnosis, j.memory.Revision.Rollback > 0))
	}
	if f.set == "" {
		return all.Required
	}
	if gvk, parent, err := j.target.parent(ctx, f.set); err == nil { // otherwise the run reports it
		all.Add(state.Run{
			Cluster: j.target.cluster, Applier: a, Plan: j.plan, Stream: j.stream,
			Parent: parent, Kind: gvk, Namespace: j.target.home, TakeOver: f.takeOver, Prune: f.prune,
		}.Permissions(ctx, j.target.cluster, kinds))
	}
	return all.Required
}

// checkPermissions returns an error if permissions are missing. It is called before the
// first write. flags are the flags with which rbac prints the required roles.
func (t *target) checkPermissions(ctx context.Context, required func() []kube.Permission, flags ...string) error {
	ctx, done := activity.Start(ctx, "checking permissions with the API server")
	defer done()
	err := access.Check(ctx, t.cluster, required)
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	var denied *access.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	if t.scope.Enforce {
		flags = append(flags, "-n", t.scope.Namespace)
	}
	flags = append(flags, bindingFlags(denied.User)...)
	return errors.Join(err, fmt.Errorf("nothing was written; print the required Roles with: ordapply rbac %s", strings.Join(flags, " ")))
}

// rolesFlags returns the flags with which rbac prints the roles for this run.
func (f *applyFlags) rolesFlags(namespace string) []string {
	flags := slices.Concat(f.inputFlags.same(), f.planningFlags.same(), f.healthFlags.same())
	if f.set != "" {
		flags = append(flags, "-n", namespace, "--applyset", quoted(f.set))
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--prune", f.prune}, {"--take-over", f.takeOver}, {"--rollback-on-failure", f.rollback}, {"--diagnosis=false", !f.diagnosis},
	} {
		if flag.given {
			flags = append(flags, flag.name)
		}
	}
	return flags
}

// same returns the flags that produce the same plan from the same manifests.
func (f *planningFlags) same() []string {
	var flags []string
	if f.frame != "" {
		flags = append(flags, "--frame", quoted(f.frame))
	}
	if f.hooks != "run" {
		flags = append(flags, "--hooks", quoted(f.hooks))
	}
	if !f.prerequisites {
		flags = append(flags, "--prerequisites=false")
	}
	for _, kind := range f.prerequisiteKinds {
		flags = append(flags, "--prerequisite-kinds", quoted(kind))
	}
	for _, folder := range f.charts {
		flags = append(flags, "--chart", quoted(folder))
	}
	return flags
}

// same returns the flags that produce the same waits.
func (f *healthFlags) same() []string {
	var flags []string
	if f.rules != "" {
		flags = append(flags, "--health-rules", quoted(f.rules))
	}
	if f.argocd != "" {
		flags = append(flags, "--argocd-cm", quoted(f.argocd))
	}
	if f.strict {
		flags = append(flags, "--strict-readiness")
	}
	return flags
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if regexp.MustCompile(`^[-\w./,:=@%+]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// same returns the flags that select the same manifests and order.
func (f *inputFlags) same() []string {
	files := slices.Clone(f.files)
	for i := range files {
		files[i] = keptURL(files[i])
	}
	flags := []string{"-f", quoted(cmp.Or(strings.Join(files, ","), "-"))}
	if f.kustomize != "" {
		flags = []string{"-k", quoted(keptURL(f.kustomize))}
	}
	if f.plugins {
		flags = append(flags, "--enable-alpha-plugins")
	}
	if f.exec {
		flags = append(flags, "--enable-exec")
	}
	if f.recursive {
		flags = append(flags, "-R")
	}
	if f.selector != "" {
		flags = append(flags, "-l", "'"+strings.ReplaceAll(f.selector, "'", `'\''`)+"'")
	}
	if f.order != "" {
		flags = append(flags, "--order", quoted(f.order))
	}
	return flags
}

// bindingFlags returns rbac's flags for an account.
func bindingFlags(account string) []string {
	if name, ok := strings.CutPrefix(account, "system:serviceaccount:"); ok {
		return []string{"--service-account", strings.Replace(name, ":", "/", 1)}
	}
	if account == "" {
		return nil
	}
	return []string{"--user", account}
}
