package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/access"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/liveview"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// deleteFlags are the flags of delete.
type deleteFlags struct {
	inputFlags
	planningFlags
	cluster         *genericclioptions.ConfigFlags
	dryRun          string
	output          string
	wait            bool
	diagnosis       bool
	pruneNamespaces bool
	timeout         time.Duration
	waveTimeout     time.Duration
	runView
	set            string
	ignoreNotFound bool
	lockTimeout    time.Duration
}

func newDelete() *cobra.Command {
	f := deleteFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "delete (-f FILE | --applyset NAME)",
		Short: "Delete the objects of manifests in reverse order",
		Long: `delete deletes the objects of manifests, in the reverse of the order in which
apply creates them: dependents before their dependencies, custom resources before
their CustomResourceDefinition and before the workloads that may run their
finalizers. The next wave opens when all objects of a wave are gone. Missing
objects are reported, not treated as errors.`,
		Example: `  ordapply delete -f app.yaml --order order.yaml
  kustomize build . | ordapply delete -f -
  ordapply delete -f app.yaml --dry-run=client
  ordapply delete --applyset shop -n shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.inputFlags.register(flags)
	f.planningFlags.register(flags)
	f.cluster.AddFlags(flags)
	flags.StringVar(&f.set, "applyset", "", "delete an apply set with all its members instead: NAME of its parent Secret, or KIND/NAME")
	flags.BoolVar(&f.ignoreNotFound, "ignore-not-found", false, "a missing apply set is not an error; missing objects of manifests never are")
	registerLockTimeout(flags, &f.lockTimeout)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the order only; "server": let the server check every deletion and delete nothing`)
	flags.StringVarP(&f.output, "output", "o", "text", `format of standard output: "text": one line per resource, as in kubectl; "name": the names of deleted resources; "json": one event per line`)
	f.runView.register(flags)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are gone; with false, others wait only until a deletion is accepted")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "report what blocks the deletion of resources that are not gone")
	flags.BoolVar(&f.pruneNamespaces, "prune-namespaces", false, "delete Namespaces with all their contents; without it, a Namespace that contains other objects is kept")
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "maximum time for the resources of a wave to be gone; 0: no limit")
	return cmd
}

func (f *deleteFlags) run(cmd *cobra.Command) error {
	if err := errors.Join(oneOf("output", f.output, "text", "name", "json"), oneOf("dry-run", f.dryRun, "none", "client", "server")); err != nil {
		return err
	}
	if f.set != "" {
		switch {
		case len(f.files) > 0 || f.kustomize != "" || f.selector != "" || f.order != "":
			return usagef("--applyset deletes all members of the set, in their recorded order: leave out -f, -k, -l and --order")
		case !f.wait:
			return usagef("--wait=false: an apply set is deleted only when its members are gone")
		}
	}
	measured, err := newMetricsRecorder(f.metricsFile, seriesLabels(cmd.Context(), f.cluster, f.set, f.metricsLabels))
	if err != nil {
		return err
	}
	if f.set != "" {
		err = f.deleteSet(cmd, measured)
	} else {
		err = f.deleteManifests(cmd, measured)
	}
	return reported(err)
}

func (f *deleteFlags) deleteManifests(cmd *cobra.Command, measured *metricsRecorder) error {
	d, err := f.prepare(cmd, measured)
	if err == nil {
		return f.execute(cmd, d)
	}
	return reportUnstarted(cmd.OutOrStdout(), f.output, measured, err)
}

// deletion is a prepared deletion.
type deletion struct {
	target *target
	order  *ordering.Deletion
	live   map[object.ID]*unstructured.Unstructured // at least their metadata
	keep   func(live *unstructured.Unstructured) string
	hooks  []ordering.Resource // run before and after the deletion

	measured *metricsRecorder
}

// prepare reads the manifests and the live objects that they name.
func (f *deleteFlags) prepare(cmd *cobra.Command, measured *metricsRecorder) (d deletion, err error) {
	d.measured = measured
	f.dropText = true
	inputs, options, err := readAll(cmd, &f.inputFlags, &f.planningFlags, scopeOf(f.cluster, ""))
	if errors.Is(err, errNoResources) {
		return d, fmt.Errorf("%w: nothing was deleted", errNoResources)
	}
	if err != nil {
		return d, err
	}
	if d.target, err = connect(cmd.Context(), f.cluster, measured.watch); err != nil {
		return d, err
	}
	scope := d.target.scope
	scope.Deletion = true
	stream, err := apply.NewStream(markHooks(inputs, options), scope)
	options.Excluded, d.keep, d.hooks = stream.Excluded, protectedIn(stream), stream.Hooks
	remarks, wrong := checkDeletion(stream, options, d.target)
	order, unordered := ordering.DeletionOrder(stream.Resources, options)
	if err := errors.Join(err, wrong, unordered); err != nil {
		return d, err
	}
	d.order = order
	d.order.Notes = slices.Concat(d.order.Notes, stream.Notes(), remarks)
	d.order.Notes = append(d.order.Notes, d.target.undiscoveredNotes(stream)...)
	if d.live, err = apply.Find(cmd.Context(), d.target.cluster, stream.Resources); err != nil || f.dryRun == "client" {
		return d, err
	}
	required := func() []kube.Permission {
		all := access.RemovalPermissions(d.live, kube.KindsOf(d.target.cluster))
		if f.dryRun == "none" {
			running, _ := hooks.Read(d.hooks)
			all.Add(hookrun.Permissions(running, kube.KindsOf(d.target.cluster), f.diagnosis, hooks.PreDelete, hooks.PostDelete))
		}
		return all.Required
	}
	return d, d.target.checkPermissions(cmd.Context(), required, append(f.inputFlags.same(), "--delete")...)
}

// execute deletes, or prints the order of deletion, and reports events.
func (f *deleteFlags) execute(cmd *cobra.Command, d deletion) error {
	outputs := openOutputs(cmd)
	defer outputs.close(cmd.Context())
	if f.dryRun == "client" {
		return f.show(outputs.out, d)
	}
	told := f.reporters(cmd, d, outputs)
	told.begin()
	verboseLogOf(cmd.Context()).plan(d.order.Plan())
	defer told.notifyInterrupt(cmd.Context(), outputs.err)()
	summary, err := f.deleteAround(cmd.Context(), d, told)
	err = d.measured.ended(timedOut(summary, orInterrupted(cmd.Context(), err)))
	told.end(outcome(summary, d.target.warnings.list(), err))
	return err
}

// protectedIn keeps objects whose manifest protects them, even if the live
// object does not have the annotation yet.
func protectedIn(stream *apply.Stream) func(*unstructured.Unstructured) string {
	return func(live *unstructured.Unstructured) string {
		manifest := stream.Objects[apply.Meta(live).ID]
		if manifest == nil {
			return ""
		}
		protection := applyset.Protection(manifest)
		if protection == "" {
			return ""
		}
		return fmt.Sprintf("the annotation %s of its manifest keeps it", protection)
	}
}

// remover returns a Remover configured by the flags.
func (f *deleteFlags) remover(d deletion, told func(apply.Event)) apply.Remover {
	return apply.Remover{
		Cluster:         d.measured.of(d.target.cluster),
		Timeout:         f.timeout,
		WaveTimeout:     orNone(f.waveTimeout),
		DryRun:          f.dryRun == "server",
		NoWait:          !f.wait,
		PruneNamespaces: f.pruneNamespaces,
		KeepReason:      d.keep,
		NoDiagnosis:     !f.diagnosis,
		Events:          told,
	}
}

// reporters returns the reporters for -o, in addition to progress on standard
// error.
func (f *deleteFlags) reporters(cmd *cobra.Command, d deletion, o outputs) reporters {
	j := session{target: d.target, plan: d.order.Plan()}
	d.measured.plan = j.plan
	told := reporters{d.measured}
	p := &deletionPrinter{newPrinter(j, o, f.dryRun == "server")}
	switch f.output {
	case "name":
		p.results = namesOnly
	case "json":
		p.results = noResults
		lines := &eventLines{log: events.NewLog(o.out), plan: j.plan, start: events.RunStart{
			Server: d.target.server, Context: d.target.context, DryRun: f.dryRun == "server", Schedule: apply.Waves.String(),
		}}
		told = append(told, lines)
	}
	if on := liveTerminal(cmd, f.output); on != nil && !f.noLive && !isVerbose(cmd) && f.dryRun == "none" {
		return append(told, newLive(cmd, p, p.printer, liveview.Options{WaveTimeout: f.waveTimeout}, on))
	}
	return append(told, p)
}
