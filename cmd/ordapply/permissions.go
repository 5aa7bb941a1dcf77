package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/state"
)

// permissions are those that applying the job's stream requires.
func (f *applyFlags) permissions(ctx context.Context, j job) []apply.Permission {
	a := apply.Applier{DryRun: f.dryRun == "server", Health: j.assessor, NoDiagnosis: !f.diagnosis, Ungated: j.ungated}
	kinds := apply.StreamKinds(j.stream.Objects).Or(apply.KindsOf(j.target.cluster))
	all := a.Permissions(j.plan, j.stream.Objects, kinds)
	if f.set == "" {
		return all.Required
	}
	if gvk, parent, err := j.target.parent(ctx, f.set); err == nil { // else the run says so
		all.Add(state.Run{
			Cluster: j.target.cluster, Applier: a, Plan: j.plan, Stream: j.stream,
			Parent: parent, Kind: gvk, Namespace: j.target.home, TakeOver: f.takeOver, Prune: f.prune,
		}.Permissions(ctx, j.target.cluster, kinds))
	}
	return all.Required
}

// permit refuses a run for which permissions lack, before the first write; flags
// are those with which rbac prints what the run takes.
func (t *target) permit(ctx context.Context, required func() []apply.Permission, flags ...string) error {
	err := apply.CheckAccess(ctx, t.cluster, required)
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	var denied *apply.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	if t.scope.Enforce {
		flags = append(flags, "-n", t.scope.Namespace)
	}
	flags = append(flags, bindingFlags(denied.Account)...)
	return errors.Join(err, fmt.Errorf("nothing was written; what to allow is printed by: ordapply rbac %s", strings.Join(flags, " ")))
}

// rolesFlags are those with which rbac prints what this run takes.
func (f *applyFlags) rolesFlags(namespace string) []string {
	flags := f.inputFlags.same()
	if f.set != "" {
		flags = append(flags, "-n", namespace, "--applyset", f.set)
	}
	if f.prune {
		flags = append(flags, "--prune")
	}
	return flags
}

// same are the flags that name the same manifests.
func (f *inputFlags) same() []string {
	flags := []string{"-f", cmp.Or(strings.Join(f.files, ","), "-")}
	if f.kustomize != "" {
		flags = []string{"-k", f.kustomize}
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
		flags = append(flags, "-l", "'"+f.selector+"'")
	}
	return flags
}

// bindingFlags are those of rbac that mean an account.
func bindingFlags(account string) []string {
	if name, ok := strings.CutPrefix(account, "system:serviceaccount:"); ok {
		return []string{"--service-account", strings.Replace(name, ":", "/", 1)}
	}
	if account == "" {
		return nil
	}
	return []string{"--user", account}
}
