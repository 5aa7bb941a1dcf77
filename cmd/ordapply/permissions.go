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
	if gvk, parent, err := j.target.parent(f.set); err == nil { // else the run says so
		all.Add(state.Run{
			Cluster: j.target.cluster, Applier: a, Plan: j.plan, Stream: j.stream,
			Parent: parent, Kind: gvk, Namespace: j.target.scope.Namespace, TakeOver: f.takeOver, Prune: f.prune,
		}.Permissions(ctx, kinds))
	}
	return all.Required
}

// permit refuses a run for which permissions lack, before the first write; files
// are those of -f.
func (t *target) permit(ctx context.Context, required func() []apply.Permission, files []string) error {
	err := apply.CheckAccess(ctx, t.cluster, required)
	var denied *apply.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	command := "ordapply rbac -f " + cmp.Or(strings.Join(files, ","), "-") + subjectFlag(denied.Account)
	if t.scope.Enforce {
		command += " -n " + t.scope.Namespace
	}
	return errors.Join(err, fmt.Errorf("nothing was written; what to allow is printed by: %s", command))
}

// subjectFlag is the flag of rbac that means an account.
func subjectFlag(account string) string {
	if name, ok := strings.CutPrefix(account, "system:serviceaccount:"); ok {
		return " --service-account " + strings.Replace(name, ":", "/", 1)
	}
	if account == "" {
		return ""
	}
	return " --user " + account
}
