package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state"
)

// readPlan reads the plan file, and the flags that it was made with.
func (f *applyFlags) readPlan(cmd *cobra.Command) (*plan.File, error) {
	if f.planFile == "" {
		return nil, nil
	}
	planned, err := plan.ReadFile(cmd.Context(), f.planFile)
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
	inputs, options, err := input.ReadAll(cmd, &f.StreamFlags, &f.PlanFlags, connect.ScopeOf(f.cluster, f.Set))
	if err != nil {
		return j, err
	}
	if err := input.UseHealthRules(cmd.Context(), j.assessor, f.Order); err != nil {
		return j, err
	}
	if j.target, err = connecting(); err != nil {
		return j, err
	}
	if err := connect.UseSet(cmd.Context(), j.target, f.Set); err != nil {
		return j, err
	}
	if j.stream, j.plan, err = f.PlanStream(inputs, j.target.Scope, &options, j.target); err != nil {
		return j, err
	}
	j.atomic = state.AtomicStacks(j.plan, options.Stacks)
	if j.metadata, err = f.RevisionMetadata(cmd.Context(), options, f.Order); err != nil {
		return j, err
	}
	if j.ungated, err = input.Gates(j.plan, j.stream, f.wait); err != nil || f.dryRun == "client" {
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
