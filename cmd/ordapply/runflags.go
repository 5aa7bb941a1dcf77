package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/connect"
)

// runFlags control any run.
type runFlags struct {
	dryRun         string
	fieldManager   string
	forceConflicts applyset.Force
	schedule       string
	output         string
	wait           bool
	diagnosis      bool
	keepGoing      bool
	timeLimits
	kindTimeout time.Duration
	crdTimeout  time.Duration
	statusGrace time.Duration
}

// timeLimits are the flags that limit how long a run, or a deletion, takes.
type timeLimits struct {
	timeout     time.Duration
	waveTimeout time.Duration
}

// registerRun registers the flags that control any run.
func (f *applyFlags) registerRun(flags *pflag.FlagSet) {
	f.HealthFlags.Register(flags)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the plan only; "server": let the server validate everything and store nothing`)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name of the field manager that owns the applied fields")
	connect.RegisterForce(flags, &f.forceConflicts, "take fields that other field managers own: from all managers, or with =NAME,NAME only from these")
	flags.StringVar(&f.schedule, "schedule", "waves", `"waves": one wave after the other; "graph": each resource as soon as its own dependencies are met`)
	flags.Bool("ordering", true, "apply in waves; false applies everything at once and waits for all of it")
	flags.StringVarP(&f.output, "output", "o", "text", `format of standard output: "text": one line per resource, as in kubectl; "name": their names; "json": one event per line`)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are ready; with false, dependents wait only until a resource is applied")
	f.ViewFlags.Register(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&f.statusGrace, "status-grace", 15*time.Second, "maximum time to wait for a meaningful status of a custom resource before evaluating it without one; 0: do not wait")
	flags.DurationVar(&f.crdTimeout, "crd-timeout", 30*time.Second, "maximum time in which no CustomResourceDefinition of a wave makes progress, until all their kinds are served; 0: as long as the wave")
	flags.DurationVar(&f.kindTimeout, "kind-timeout", apply.DefaultKindTimeout, "maximum time to wait for a kind or a Namespace that neither the cluster nor the stream defines; 0: do not wait")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "report why a resource did not become ready: its Pods, their logs and Events")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "maximum time for a wave to become ready; 0: no limit")
}

// applier returns the Applier for a session, as the flags configure it.
func (f *runFlags) applier(j session, onEvent func(event.Event)) apply.Applier {
	return apply.Applier{
		Cluster:        j.files.Of(j.target.Cluster),
		Manager:        f.fieldManager,
		Namespace:      j.target.Scope.Namespace,
		ForceConflicts: f.forceConflicts,
		DryRun:         f.dryRun == "server",
		KeepGoing:      f.keepGoing,
		Schedule:       j.schedule,
		Timeout:        f.timeout,
		WaveTimeout:    orNone(f.waveTimeout),
		KindTimeout:    orNone(f.kindTimeout),
		CRDTimeout:     orNone(f.crdTimeout),
		StatusGrace:    orNone(f.statusGrace),
		Health:         j.assessor,
		NoDiagnosis:    !f.diagnosis,
		SkipWait:       j.ungated,
		Events:         onEvent,
	}
}

// orNone converts a duration for package apply, where 0 means the default and
// negative values mean none.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
