package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/liveview"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	inputFlags
	planningFlags
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
	runView
	healthFlags
	setFlags
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
			if err := errors.Join(f.setFlags.check(), f.checkSet(f.set)); err != nil {
				return err
			}
			if err := f.checkWait(); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, measured *metricsRecorder) (session, error) {
				j, err := f.prepare(cmd, measured)
				j.planned = planned
				if err == nil && planned != nil {
					if err := planned.checkHooks(j.stream.Hooks); err != nil {
						return j, err
					}
					j.plan.Notes = append(j.plan.Notes, planned.notes()...)
				}
				return j, err
			})
		},
	}
	cmd.Flags().StringVar(&f.planFile, "plan", "", "file written by ordapply plan --out: apply exactly that plan, or nothing")
	f.inputFlags.register(cmd.Flags())
	f.planningFlags.register(cmd.Flags())
	f.setFlags.register(cmd.Flags())
	registerServerSide(cmd.Flags())
	addClusterFlags(cmd.Flags(), f.cluster)
	f.registerRun(cmd.Flags())
	return cmd
}

// checkWait rejects flags that need readiness in combination with --wait=false.
func (f *applyFlags) checkWait() error {
	switch {
	case f.wait:
	case f.prune:
		return usagef("--prune starts only when the whole stream is ready: leave out --wait=false")
	case f.rollback:
		return usagef("--rollback-on-failure must wait for the stream to become ready: leave out --wait=false")
	}
	return nil
}

// registerRun registers the flags that control a run, whatever it applies.
func (f *applyFlags) registerRun(flags *pflag.FlagSet) {
	f.healthFlags.register(flags)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the plan only; "server": let the server validate everything and store nothing`)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name of the field manager that owns the applied fields")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false, "take fields that other field managers own")
	flags.StringVar(&f.schedule, "schedule", "waves", `"waves": one wave after the other; "graph": each resource as soon as its own dependencies are met`)
	flags.Bool("ordering", true, "apply in waves; false applies everything at once and waits for all of it")
	flags.StringVarP(&f.output, "output", "o", "text", `format of standard output: "text": one line per resource, as in kubectl; "name": their names; "json": one event per line`)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are ready; with false, dependents wait only until a resource is applied")
	f.runView.register(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&f.statusGrace, "status-grace", 15*time.Second, "maximum time to wait for a meaningful status of a custom resource before judging it without one; 0: do not wait")
	flags.DurationVar(&f.crdTimeout, "crd-timeout", 30*time.Second, "maximum time for the kinds of a CustomResourceDefinition to be served; 0: as long as its wave")
	flags.DurationVar(&f.kindTimeout, "kind-timeout", 30*time.Second, "maximum time to wait for a kind that neither the cluster nor the stream defines; 0: do not wait")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "report why a resource did not become ready: its Pods, their logs and Events")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "maximum time for a wave to become ready; 0: no limit")
}

// run runs the job that prepare returns.
func (f *applyFlags) run(cmd *cobra.Command, prepare func(*cobra.Command, *metricsRecorder) (session, error)) error {
	if err := oneOf("output", f.output, "text", "name", "json"); err != nil {
		return err
	}
	measured, err := newMetricsRecorder(f.metricsFile, seriesLabels(cmd.Context(), f.cluster, f.set, f.metricsLabels))
	if err != nil {
		return err
	}
	j, err := prepare(cmd, measured)
	switch {
	case err != nil:
		err = reportUnstarted(cmd.OutOrStdout(), f.output, measured, err)
	case f.dryRun == "client":
		err = f.printClientDryRun(cmd, j)
	default:
		err = f.execute(cmd, j)
	}
	return reported(err)
}

// session is a prepared run.
type session struct {
	target   *target
	stream   *apply.Stream
	plan     *ordering.Plan
	memory   state.RevisionMetadata // what the history of an apply set stores about it
	schedule apply.Schedule
	assessor *health.Assessor
	ungated  func(object.ID) bool
	measured *metricsRecorder
	atomic   []state.AtomicStack
	planned  *planFile // the plan that must still be valid; nil without one
	// precondition is checked under the lock, before the first write; nil means no
	// check.
	precondition func(context.Context) error
}

// readPlan reads the plan file, and the flags that it was made with.
func (f *applyFlags) readPlan(cmd *cobra.Command) (*planFile, error) {
	if f.planFile == "" {
		return nil, nil
	}
	planned, err := readPlanFile(cmd.Context(), f.planFile)
	if err != nil {
		return nil, err
	}
	return planned, planned.restoreFlags(cmd)
}

// newSession returns a job with the settings that depend on flags only.
func (f *applyFlags) newSession(ctx context.Context, measured *metricsRecorder) (j session, err error) {
	j.measured = measured
	if f.dryRun != "none" && f.dryRun != "client" && f.dryRun != "server" {
		return j, usagef("--dry-run=%s: write none, client or server", f.dryRun)
	}
	if j.schedule, err = apply.ParseSchedule(f.schedule); err != nil {
		return j, usagef("--schedule: %w", err)
	}
	j.assessor, err = f.assessor(ctx)
	return j, err
}

// prepare does everything that comes before the first write.
func (f *applyFlags) prepare(cmd *cobra.Command, measured *metricsRecorder) (session, error) {
	j, err := f.newSession(cmd.Context(), measured)
	if err != nil {
		return j, err
	}
	f.dropText = true
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	connecting := startAsync(ctx, func() (*target, error) { return connect(ctx, f.cluster, measured.watch) })
	inputs, options, err := readAll(cmd, &f.inputFlags, &f.planningFlags, scopeOf(f.cluster, f.set))
	if err != nil {
		return j, err
	}
	if err := withOrder(cmd.Context(), j.assessor, f.order); err != nil {
		return j, err
	}
	if j.target, err = connecting(); err != nil {
		return j, err
	}
	if f.set != "" {
		j.target.scope.Enforce = false // --namespace is the set's; members may be in other namespaces
	}
	if j.stream, j.plan, err = f.planStream(inputs, j.target.scope, &options, j.target); err != nil {
		return j, err
	}
	j.atomic = state.AtomicStacks(j.plan, options.Stacks)
	if j.memory, err = f.memory(cmd.Context(), options, f.order); err != nil {
		return j, err
	}
	measured.plan = j.plan
	if j.ungated, err = gates(j.plan, j.stream, f.wait); err != nil || f.dryRun == "client" {
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
	flags := f.rolesFlags(j.target.scope.Namespace)
	if len(j.atomic) > 0 && !f.rollback {
		flags = append(flags, "--rollback-on-failure") // which includes the permissions of atomic stacks
	}
	required := func() []kube.Permission {
		return append(f.permissions(ctx, j), f.undoPermissions(ctx, j, back)...)
	}
	return j.target.checkPermissions(ctx, required, flags...)
}

// printClientDryRun prints the plan for --dry-run=client, with --prune including what
// would be pruned from the set.
func (f *applyFlags) printClientDryRun(cmd *cobra.Command, j session) error {
	plan := j.plan
	if f.set != "" && f.prune {
		applier := apply.Applier{Cluster: j.target.cluster, Manager: f.fieldManager, Timeout: f.timeout}
		run, err := f.setFlags.open(cmd.Context(), j, applier, reporters{}, cmd.ErrOrStderr())
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
		return plan.WriteJSON(w)
	case "name":
		var b strings.Builder
		for _, s := range plan.Steps {
			plain.Fprintln(&b, resourceName(s.ID))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	return plan.WriteText(w)
}

// execute runs a plan on a cluster and reports its events.
func (f *applyFlags) execute(cmd *cobra.Command, j session) error {
	j.plan.Notes = append(j.plan.Notes, append(j.target.undiscoveredNotes(j.stream), f.unknownKindNotes(j)...)...)
	outputs := openOutputs(cmd)
	defer outputs.close(cmd.Context())
	told := f.reporters(cmd, j, outputs)
	told.begin()
	verboseLogOf(cmd.Context()).plan(j.plan)
	defer told.notifyInterrupt(cmd.Context(), outputs.err)()
	applier := apply.Applier{
		Cluster:        j.measured.of(j.target.cluster),
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
		Events:         told.event,
	}
	summary, err := f.apply(cmd, j, applier, told)
	err = j.measured.ended(timedOut(summary, orInterrupted(cmd.Context(), err)))
	told.end(outcome(summary, j.target.warnings.list(), err))
	return err
}

// apply applies the stream, to an apply set if one is given.
func (f *applyFlags) apply(cmd *cobra.Command, j session, applier apply.Applier, told reporters) (apply.Summary, error) {
	applier.Begin = j.precondition
	if f.set == "" {
		if j.planned != nil {
			applier.Begin = func(ctx context.Context) error {
				preview, err := applier.Preview(ctx, j.plan, j.stream.Objects)
				if err == nil {
					err = j.planned.check(ctx, j.target, preview, nil)
				}
				return err
			}
		}
		return f.applyAround(cmd.Context(), j, applier, told)
	}
	run, err := f.setFlags.open(cmd.Context(), j, applier, told, cmd.ErrOrStderr())
	if err != nil {
		return apply.Summary{}, err
	}
	if j.planned != nil {
		run.Check = func(ctx context.Context, preview *apply.Preview, made []object.ID) error {
			return j.planned.check(ctx, j.target, preview, made)
		}
	}
	switch {
	case f.rollback:
		f.enableRollback(&run, cmd, j, applier, told)
	case len(j.atomic) > 0:
		enableStackRollback(&run, j, told)
	}
	return run.Do(cmd.Context())
}

// reporters returns the reporters for -o, in addition to progress on standard
// error. Reporters that may block on a slow reader at the end come last.
func (f *applyFlags) reporters(cmd *cobra.Command, j session, o outputs) reporters {
	p := newPrinter(j, o, f.dryRun == "server")
	told := reporters{j.measured}
	switch f.output {
	case "name":
		p.results = namesOnly
	case "json":
		p.results = noResults
		told = append(told, f.newEventLines(o.out, j))
	}
	if on := liveTerminal(cmd, f.output); on != nil && !f.noLive && !isVerbose(cmd) {
		return append(told, newLive(cmd, p, p, liveview.Options{Graph: j.schedule == apply.Graph, WaveTimeout: f.waveTimeout}, on))
	}
	return append(told, p)
}
