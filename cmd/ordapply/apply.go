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
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// applyFlags are those of the apply verb.
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
			planned, err := f.recallPlan(cmd)
			if err != nil {
				return err
			}
			if err := errors.Join(f.setFlags.check(), f.checkSet(f.set)); err != nil {
				return err
			}
			if err := f.checkWait(); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, measured *measure) (job, error) {
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
	cmd.Flags().StringVar(&f.planFile, "plan", "", "file that ordapply plan --out wrote: apply exactly that, or nothing")
	f.inputFlags.register(cmd.Flags())
	f.planningFlags.register(cmd.Flags())
	f.setFlags.register(cmd.Flags())
	registerServerSide(cmd.Flags())
	addClusterFlags(cmd.Flags(), f.cluster)
	f.registerRun(cmd.Flags())
	return cmd
}

// checkWait refuses to prune without knowing that all else is ready.
func (f *applyFlags) checkWait() error {
	switch {
	case f.wait:
	case f.prune:
		return usagef("--prune deletes what is left over when all of the stream is ready: leave out --wait=false")
	case f.rollback:
		return usagef("--rollback-on-failure has to see whether the stream becomes ready: leave out --wait=false")
	}
	return nil
}

// registerRun registers the flags that say how a run goes, whatever it applies.
func (f *applyFlags) registerRun(flags *pflag.FlagSet) {
	f.healthFlags.register(flags)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the plan only; "server": let the server validate everything and store nothing`)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name that owns the applied fields")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false, "take fields that other field managers own")
	flags.StringVar(&f.schedule, "schedule", "waves", `"waves": one wave after the other; "graph": each resource as soon as its own needs are met`)
	flags.Bool("ordering", true, "apply in waves; false sends everything at once and waits for all of it")
	flags.StringVarP(&f.output, "output", "o", "text", `what standard output gets: "text": a line for each resource, as kubectl's; "name": their names; "json": one event a line`)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are ready; with false each holds up others only until it is applied")
	f.runView.register(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, "longest the whole run may take; 0 is no limit beyond the waves' own")
	flags.DurationVar(&f.statusGrace, "status-grace", 15*time.Second, "how long a custom resource may be without a status that says how it is, before it is judged all the same; 0: not at all")
	flags.DurationVar(&f.crdTimeout, "crd-timeout", 30*time.Second, "longest a CustomResourceDefinition may take until its kinds are served; 0: as long as its wave")
	flags.DurationVar(&f.kindTimeout, "kind-timeout", 30*time.Second, "longest to wait for a kind that neither the cluster nor the stream defines; 0: not at all")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "ask the cluster why something did not become ready: its Pods, their logs and events")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "longest one wave may take to become ready; 0 is no limit")
}

// run carries out what prepare makes ready.
func (f *applyFlags) run(cmd *cobra.Command, prepare func(*cobra.Command, *measure) (job, error)) error {
	if err := oneOf("output", f.output, "text", "name", "json"); err != nil {
		return err
	}
	measured, err := newMeasure(f.metricsFile, seriesLabels(cmd.Context(), f.cluster, f.set, f.metricsLabels))
	if err != nil {
		return err
	}
	j, err := prepare(cmd, measured)
	switch {
	case err != nil:
		err = notBegun(cmd.OutOrStdout(), f.output, measured, err)
	case f.dryRun == "client":
		err = f.outline(cmd, j)
	default:
		err = f.carryOut(cmd, j)
	}
	return reported(err)
}

// job is a run that is ready to begin.
type job struct {
	target   *target
	stream   *apply.Stream
	plan     *ordering.Plan
	memory   state.Memory // what the history of an apply set keeps of it
	schedule apply.Schedule
	assessor *health.Assessor
	ungated  func(object.ID) bool
	measured *measure
	atomic   []state.AtomicStack
	planned  *planFile // that must still hold; nil without one
	// stillDue is asked under the lock, before the first write; nil: nothing is.
	stillDue func(context.Context) error
}

// recallPlan reads the plan that is to be applied, and the flags that it was
// made with.
func (f *applyFlags) recallPlan(cmd *cobra.Command) (*planFile, error) {
	if f.planFile == "" {
		return nil, nil
	}
	planned, err := readPlanFile(cmd.Context(), f.planFile)
	if err != nil {
		return nil, err
	}
	return planned, planned.recall(cmd)
}

// begun is a job of which no more is known than what flags say of every run.
func (f *applyFlags) begun(ctx context.Context, measured *measure) (j job, err error) {
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

// prepare does all that comes before the first write.
func (f *applyFlags) prepare(cmd *cobra.Command, measured *measure) (job, error) {
	j, err := f.begun(cmd.Context(), measured)
	if err != nil {
		return j, err
	}
	f.lean = true
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	connecting := meanwhile(ctx, func() (*target, error) { return connect(ctx, f.cluster, measured.watch) })
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
		j.target.scope.Enforce = false // --namespace is the set's; members may be in others
	}
	if j.stream, j.plan, err = f.planStream(inputs, j.target.scope, &options, j.target); err != nil {
		return j, err
	}
	if j.atomic, err = f.atomicStacks(j, options); err != nil {
		return j, err
	}
	if j.memory, err = f.memory(cmd.Context(), options, f.order); err != nil {
		return j, err
	}
	measured.plan = j.plan
	if j.ungated, err = gates(j.plan, j.stream, f.wait); err != nil || f.dryRun == "client" {
		return j, err
	}
	return j, f.permit(cmd.Context(), j)
}

// permit asks whether the account may do all that a job asks for.
func (f *applyFlags) permit(ctx context.Context, j job) error {
	back, err := f.undoTarget(ctx, j)
	if err != nil {
		return fmt.Errorf("read what to go back to on failure: %w", err)
	}
	flags := f.rolesFlags(j.target.scope.Namespace)
	if len(j.atomic) > 0 && !f.rollback {
		flags = append(flags, "--rollback-on-failure") // which includes what atomic stacks require
	}
	required := func() []apply.Permission {
		return append(f.permissions(ctx, j), f.undoPermissions(ctx, j, back)...)
	}
	return j.target.permit(ctx, required, flags...)
}

// outline prints what --dry-run=client is asked for: the plan, and where --prune
// is given what the set has and would lose.
func (f *applyFlags) outline(cmd *cobra.Command, j job) error {
	plan := j.plan
	if f.set != "" && f.prune {
		applier := apply.Applier{Cluster: j.target.cluster, Manager: f.fieldManager, Timeout: f.timeout}
		run, err := f.setFlags.open(cmd.Context(), j, applier, tellers{}, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if plan, err = run.Outline(cmd.Context()); err != nil {
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

// carryOut runs a plan on a cluster and tells what happens.
func (f *applyFlags) carryOut(cmd *cobra.Command, j job) error {
	j.plan.Notes = append(j.plan.Notes, j.target.unreadable(j.stream)...)
	outputs := openOutputs(cmd)
	defer outputs.close(cmd.Context())
	told := f.tellers(cmd, j, outputs)
	told.begin()
	verboseLogOf(cmd.Context()).plan(j.plan)
	defer told.heed(cmd.Context(), outputs.err)()
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
		Ungated:        j.ungated,
		Events:         told.event,
	}
	summary, err := f.apply(cmd, j, applier, told)
	err = j.measured.ended(timedOut(summary, orInterrupted(cmd.Context(), err)))
	told.end(outcome(summary, j.target.warnings.list(), err))
	return err
}

// apply applies the stream, to a set where one is named.
func (f *applyFlags) apply(cmd *cobra.Command, j job, applier apply.Applier, told tellers) (apply.Summary, error) {
	applier.Begin = j.stillDue
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
		f.undoing(&run, cmd, j, applier, told)
	case len(j.atomic) > 0:
		undoingStacks(&run, j, told)
	}
	return run.Do(cmd.Context())
}

// tellers are those that -o asks for; people are told on standard error in any
// case. Those that may have to wait for a reader in the end come last.
func (f *applyFlags) tellers(cmd *cobra.Command, j job, o outputs) tellers {
	p := newPrinter(j, o, f.dryRun == "server")
	told := tellers{j.measured}
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
