package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/abortable"
	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/orderfile"
	"github.com/ordapply/ordapply/internal/plandiff"
	"github.com/ordapply/ordapply/internal/planning"
	"github.com/ordapply/ordapply/internal/report"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state"
)

// readPlan reads the plan file, and the flags that it was made with.
func (f *applyFlags) readPlan(cmd *cobra.Command) (*plandiff.File, error) {
	if f.planFile == "" {
		return nil, nil
	}
	planned, err := plandiff.ReadFile(cmd.Context(), f.planFile)
	if err != nil {
		return nil, err
	}
	return planned, planned.RestoreFlags(cmd)
}

// prepare does everything that comes before the first write.
func (f *applyFlags) prepare(cmd *cobra.Command, files *report.Files) (session, error) {
	j, err := f.newSession(cmd.Context(), files)
	if err != nil {
		return j, err
	}
	f.DropText, f.Outcome = true, "nothing was applied"
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	connecting := abortable.Start(ctx, func() (*connect.Target, error) { return connect.To(ctx, f.cluster, files.Watch) })
	inputs, options, err := planning.ReadAll(cmd, &f.InputFlags, &f.PlanFlags, connect.ScopeOf(f.cluster, f.Set))
	if err != nil {
		return j, err
	}
	if err := orderfile.UseHealthRules(cmd.Context(), j.assessor, f.Order); err != nil {
		return j, err
	}
	if j.target, err = connecting(); err != nil {
		return j, err
	}
	if err := setflags.UseSet(cmd.Context(), j.target, f.Set); err != nil {
		return j, err
	}
	if j.stream, j.plan, err = f.PlanStream(inputs, j.target.Scope, &options, j.target); err != nil {
		return j, err
	}
	j.atomic = state.AtomicStacks(j.plan, options.Stacks)
	if j.metadata, err = f.RevisionMetadata(cmd.Context(), options, f.Order); err != nil {
		return j, err
	}
	if j.ungated, err = planning.Gates(j.plan, j.stream, f.wait); err != nil || f.dryRun == "client" {
		return j, err
	}
	return j, f.checkPermissions(cmd.Context(), j)
}

// checkPermissions checks that the account has all permissions that a job requires.
func (f *applyFlags) checkPermissions(ctx context.Context, j session) error {
	back, err := f.undoTarget(ctx, j)
	if err != nil {
		return fmt.Errorf("read the revision to roll back to on failure: %w", err)
	}
	flags := f.rolesFlags(j.target.Scope.Namespace)
	if len(j.atomic) > 0 && !f.Rollback {
		flags = append(flags, "--rollback-on-failure") // which includes the permissions of atomic stacks
	}
	required := func() []kube.Permission {
		return append(f.permissions(ctx, j), f.undoPermissions(ctx, j, back)...)
	}
	return j.target.CheckPermissions(ctx, required, flags...)
}
