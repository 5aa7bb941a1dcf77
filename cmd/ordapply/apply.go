package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/abortable"
	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/internal/healthfiles"
	"github.com/ordapply/ordapply/internal/orderfile"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plandiff"
	"github.com/ordapply/ordapply/internal/planning"
	"github.com/ordapply/ordapply/internal/planprint"
	"github.com/ordapply/ordapply/internal/report"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/internal/source"
	"github.com/ordapply/ordapply/internal/usage"
	"github.com/ordapply/ordapply/internal/verbose"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/preview"
	"github.com/ordapply/ordapply/state"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	source.InputFlags
	planning.PlanFlags
	cluster        *genericclioptions.ConfigFlags
	dryRun         string
	fieldManager   string
	forceConflicts bool
	schedule       string
	timeout        time.Duration
	waveTimeout    time.Duration
	kindTimeout    time.Duration
	crdTimeout     time.Duration
	statusGrace    time.Duration
	output         string
	wait           bool
	planFile       string
	diagnosis      bool
	report.ViewFlags
	healthfiles.HealthFlags
	setflags.SetFlags
}

func newApply() *cobra.Command {
	f := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply manifests in gated waves",
		Example: `  kustomize build . | ordapply
  ordapply apply -f app.yaml --order order.yaml --wave-timeout 2m
  ordapply apply -f app.yaml --dry-run=server
  ordapply apply -f app.yaml -o json | jq -r 'select(.type == "error").message'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			planned, err := f.readPlan(cmd)
			if err != nil {
				return err
			}
			if err := errors.Join(f.SetFlags.Check(), f.CheckSet(f.Set)); err != nil {
				return err
			}
			if err := f.checkWait(); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, files *report.Files) (session, error) {
				j, err := f.prepare(cmd, files)
				j.planned = planned
				if err == nil && planned != nil {
					if err := planned.CheckHooks(j.stream.Hooks); err != nil {
						return j, err
					}
					j.plan.Notes = append(j.plan.Notes, planned.Notes()...)
				}
				return j, err
			})
		},
	}
	cmd.Flags().StringVar(&f.planFile, "plan", "", "file written by ordapply plan --out: apply exactly that plan, or nothing")
	f.InputFlags.Register(cmd.Flags())
	f.PlanFlags.Register(cmd.Flags())
	f.SetFlags.Register(cmd.Flags())
	plandiff.RegisterServerSide(cmd.Flags())
	setflags.AddClusterFlags(cmd.Flags(), f.cluster)
	f.registerRun(cmd.Flags())
	return cmd
}

// checkWait rejects flags that need readiness in combination with --wait=false.
func (f *applyFlags) checkWait() error {
	switch {
	case f.wait:
	case f.Prune:
		return usage.Errorf("--prune starts only when the whole stream is ready: leave out --wait=false")
	case f.Rollback:
		return usage.Errorf("--rollback-on-failure must wait for the stream to become ready: leave out --wait=false")
	}
	return nil
}

// registerRun registers the flags that control a run, whatever it applies.
func (f *applyFlags) registerRun(flags *pflag.FlagSet) {
	f.HealthFlags.Register(flags)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the plan only; "server": let the server validate everything and store nothing`)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name of the field manager that owns the applied fields")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false, "take fields that other field managers own")
	flags.StringVar(&f.schedule, "schedule", "waves", `"waves": one wave after the other; "graph": each resource as soon as its own dependencies are met`)
	flags.Bool("ordering", true, "apply in waves; false applies everything at once and waits for all of it")
	flags.StringVarP(&f.output, "output", "o", "text", `format of standard output: "text": one line per resource, as in kubectl; "name": their names; "json": one event per line`)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are ready; with false, dependents wait only until a resource is applied")
	f.ViewFlags.Register(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&f.statusGrace, "status-grace", 15*time.Second, "maximum time to wait for a meaningful status of a custom resource before judging it without one; 0: do not wait")
	flags.DurationVar(&f.crdTimeout, "crd-timeout", 30*time.Second, "maximum time for the kinds of a CustomResourceDefinition to be served; 0: as long as its wave")
	flags.DurationVar(&f.kindTimeout, "kind-timeout", 30*time.Second, "maximum time to wait for a kind that neither the cluster nor the stream defines; 0: do not wait")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "report why a resource did not become ready: its Pods, their logs and Events")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "maximum time for a wave to become ready; 0: no limit")
}

// run runs the job that prepare returns.
func (f *applyFlags) run(cmd *cobra.Command, prepare func(*cobra.Command, *report.Files) (session, error)) error {
	if err := usage.OneOf("output", f.output, "text", "name", "json"); err != nil {
		return err
	}
	files, err := report.OpenFiles(f.ViewFlags, report.SeriesLabels(cmd.Context(), f.cluster, f.Set, f.MetricsLabels))
	if err != nil {
		return err
	}
	j, err := prepare(cmd, files)
	switch {
	case err != nil:
		err = report.Unstarted(cmd.OutOrStdout(), f.output, files, err)
	case f.dryRun == "client":
		err = f.printClientDryRun(cmd, j)
	default:
		err = f.execute(cmd, j)
	}
	return report.Reported(err)
}

// session is a prepared run.
type session struct {
	target   *connect.Target
	stream   *apply.Stream
	plan     *ordering.Plan
	memory   state.RevisionMetadata // what the history of an apply set stores about it
	schedule apply.Schedule
	assessor *health.Assessor
	ungated  func(object.ID) bool
	files    *report.Files
	atomic   []state.AtomicStack
	planned  *plandiff.File // the plan that must still be valid; nil without one
	// precondition is checked under the lock, before the first write; nil means no
	// check.
	precondition func(context.Context) error
}

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

// newSession returns a job with the settings that depend on flags only.
func (f *applyFlags) newSession(ctx context.Context, files *report.Files) (j session, err error) {
	j.files = files
	if f.dryRun != "none" && f.dryRun != "client" && f.dryRun != "server" {
		return j, usage.Errorf("--dry-run=%s: write none, client or server", f.dryRun)
	}
	if j.schedule, err = apply.ParseSchedule(f.schedule); err != nil {
		return j, usage.Errorf("--schedule: %w", err)
	}
	j.assessor, err = f.Assessor(ctx)
	return j, err
}

// prepare does everything that comes before the first write.
func (f *applyFlags) prepare(cmd *cobra.Command, files *report.Files) (session, error) {
	j, err := f.newSession(cmd.Context(), files)
	if err != nil {
		return j, err
	}
	f.DropText = true
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
	if f.Set != "" {
		j.target.Scope.Enforce = false // --namespace is the set's; members may be in other namespaces
	}
	if j.stream, j.plan, err = f.PlanStream(inputs, j.target.Scope, &options, j.target); err != nil {
		return j, err
	}
	j.atomic = state.AtomicStacks(j.plan, options.Stacks)
	if j.memory, err = f.Memory(cmd.Context(), options, f.Order); err != nil {
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

// printClientDryRun prints the plan for --dry-run=client, with --prune including what
// would be pruned from the set.
func (f *applyFlags) printClientDryRun(cmd *cobra.Command, j session) error {
	plan := j.plan
	if f.Set != "" && f.Prune {
		applier := apply.Applier{Cluster: j.target.Cluster, Manager: f.fieldManager, Timeout: f.timeout}
		run, err := f.SetFlags.Open(cmd.Context(), j.setJob(), applier, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if plan, err = run.PlanWithPrune(cmd.Context()); err != nil {
			return err
		}
	}
	return f.showPlan(cmd.OutOrStdout(), plan)
}

func (f *applyFlags) showPlan(w io.Writer, plan *ordering.Plan) error {
	switch f.output {
	case "json":
		return planprint.JSON(w, plan)
	case "name":
		var b strings.Builder
		for _, s := range plan.Steps {
			plain.Fprintln(&b, report.ResourceName(s.ID))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	return plan.WriteText(w)
}

// execute runs a plan on a cluster and reports its events.
func (f *applyFlags) execute(cmd *cobra.Command, j session) error {
	j.plan.Notes = append(j.plan.Notes, append(j.target.UndiscoveredNotes(j.stream), f.unknownKindNotes(j)...)...)
	outputs := report.OpenOutputs(cmd)
	defer outputs.Close(cmd.Context())
	told := outputs.Report(cmd, j.target, j.plan, j.files, f.reportOptions(j))
	told.Begin()
	verbose.Of(cmd.Context()).Plan(j.plan)
	defer told.NotifyInterrupt(cmd.Context(), outputs.Err)()
	applier := apply.Applier{
		Cluster:        j.files.Of(j.target.Cluster),
		Manager:        f.fieldManager,
		ForceConflicts: f.forceConflicts,
		DryRun:         f.dryRun == "server",
		Schedule:       j.schedule,
		Timeout:        f.timeout,
		WaveTimeout:    orNone(f.waveTimeout),
		KindTimeout:    orNone(f.kindTimeout),
		CRDTimeout:     orNone(f.crdTimeout),
		StatusGrace:    orNone(f.statusGrace),
		Health:         j.assessor,
		NoDiagnosis:    !f.diagnosis,
		SkipWait:       j.ungated,
		Events:         told.Event,
	}
	summary, err := f.apply(cmd, j, applier, told)
	ended, err := j.files.Ended(summary, j.target.Warnings.List(), exit.OrTimeout(summary, exit.OrInterrupted(cmd.Context(), err)))
	told.End(ended)
	return err
}

// apply applies the stream, to an apply set if one is given.
func (f *applyFlags) apply(cmd *cobra.Command, j session, applier apply.Applier, told *report.Reporters) (apply.Summary, error) {
	applier.Begin = j.precondition
	if f.Set == "" {
		if j.planned != nil {
			applier.Begin = func(ctx context.Context) error {
				preview, err := applier.Preview(ctx, j.plan, j.stream.Objects)
				if err == nil {
					err = j.planned.Check(ctx, j.target, preview, nil)
				}
				return err
			}
		}
		return f.applyAround(cmd.Context(), j, applier, told)
	}
	run, err := f.openSet(cmd.Context(), j, applier, told, cmd.ErrOrStderr())
	if err != nil {
		return apply.Summary{}, err
	}
	if j.planned != nil {
		run.Check = func(ctx context.Context, preview *preview.Preview, made []object.ID) error {
			return j.planned.Check(ctx, j.target, preview, made)
		}
	}
	switch {
	case f.Rollback:
		f.enableRollback(&run, cmd, j, applier, told)
	case len(j.atomic) > 0:
		enableStackRollback(&run, j, told)
	}
	return run.Do(cmd.Context())
}

// orNone converts a duration for package apply, where 0 means the default and
// negative values mean none.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// unknownKindNotes returns a note about kinds that are waited for though neither the
// cluster nor the stream defines them. A missing operator is thus reported
// before the first write, and not only when --kind-timeout has passed.
func (f *applyFlags) unknownKindNotes(j session) []string {
	if f.kindTimeout <= 0 || f.dryRun != "none" {
		return nil
	}
	provided := map[object.ID]bool{}
	for _, s := range j.plan.Steps {
		provided[s.ID] = len(s.ProvidedBy) > 0
	}
	var kinds []string
	waiting := 0
	for _, r := range j.stream.Resources {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		_, served := j.target.Cluster.Kind(gvk)
		if planned, ok := provided[r.ID]; !ok || planned || served || object.IsNative(r.Group) || j.target.Cluster.Unreadable(gvk.GroupVersion()) != nil {
			continue
		}
		waiting++
		if name := r.ID.GroupKind(); !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	if waiting == 0 {
		return nil
	}
	slices.Sort(kinds)
	whose := "their kinds"
	if waiting == 1 {
		whose = "its kind"
	}
	return []string{fmt.Sprintf("neither the cluster nor the stream defines %s: %s will wait up to %s for %s while others are applied; --kind-timeout=0 fails before anything is written",
		strings.Join(kinds, ", "), plain.Count(waiting, "resource"), f.kindTimeout, whose)}
}

// reportOptions returns how a run is reported.
func (f *applyFlags) reportOptions(j session) report.Options {
	return report.Options{Output: f.output, Schedule: j.schedule, DryRun: f.dryRun == "server", WaveTimeout: f.waveTimeout, NoLive: f.NoLive}
}

// setJob returns what is applied to an apply set.
func (j session) setJob() setflags.Job {
	return setflags.Job{Target: j.target, Stream: j.stream, Plan: j.plan, Metadata: j.memory}
}

// openSet returns a run of the apply set that reports to told.
func (f *applyFlags) openSet(ctx context.Context, j session, applier apply.Applier, told *report.Reporters, said io.Writer) (state.Run, error) {
	run, err := f.SetFlags.Open(ctx, j.setJob(), applier, said)
	run.OnPruning, run.Remover.Events = told.Extend, told.Event
	return run, err
}
