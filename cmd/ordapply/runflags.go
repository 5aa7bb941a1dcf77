package main

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/operation"
)

// registerPreview defines the flags that determine the changes of an apply.
func registerPreview(set *pflag.FlagSet, op *operation.Preview) {
	flags.Manifests(set, &op.Manifests)
	set.Lookup("require-order").Usage += ", or with objects that lost theirs"
	flags.Planning(set, &op.Planning)
	flags.Membership(set, &op.Membership)
	set.VarPF(serverSide{}, "server-side", "", "as in kubectl; ordapply always does").NoOptDefVal = "true"
	set.Lookup("server-side").Hidden = true
	flags.Cluster(set, op.Cluster)
	registerFields(set, op)
	flags.Ordering(set, &op.Planning, "apply in waves; false applies everything at once and waits for all of it")
}

// registerFields defines the flags about the ownership of fields.
func registerFields(set *pflag.FlagSet, op *operation.Preview) {
	set.StringVar(&op.FieldManager, "field-manager", op.FieldManager, "name of the field manager that owns the applied fields")
	flags.Force(set, &op.ForceConflicts, "take fields that other field managers own: from all managers, or with =NAME,NAME only from these")
}

// registerRun defines the flags that control any run.
func registerRun(set *pflag.FlagSet, op *operation.Apply) {
	flags.Health(set, &op.Health)
	set.StringVar(&op.DryRun, "dry-run", op.DryRun, `"none"; "client": print the plan only; "server": let the server validate everything and store nothing`)
	set.StringVar(&op.Schedule, "schedule", op.Schedule, `"waves": one wave after the other; "graph": each resource as soon as its own dependencies are met`)
	set.StringVarP(&op.Output, "output", "o", op.Output, `format of standard output: "text": one line per resource, as in kubectl; "name": their names; "json": one event per line`)
	set.BoolVar(&op.Wait, "wait", op.Wait, "wait until resources are ready; with false, dependents wait only until a resource is applied")
	flags.View(set, &op.View)
	flags.Limits(set, &op.Limits, "maximum time for a wave to become ready; 0: no limit")
	set.DurationVar(&op.StatusGrace, "status-grace", op.StatusGrace, "maximum time to wait for a meaningful status of a custom resource before evaluating it without one; 0: do not wait")
	set.DurationVar(&op.CRDTimeout, "crd-timeout", op.CRDTimeout, "maximum time in which no CustomResourceDefinition of a wave makes progress, until all their kinds are served; 0: as long as the wave")
	set.DurationVar(&op.KindTimeout, "kind-timeout", op.KindTimeout, "maximum time to wait for a kind or a Namespace that neither the cluster nor the stream defines; 0: do not wait")
	set.BoolVar(&op.Diagnosis, "diagnosis", op.Diagnosis, "report why a resource did not become ready: its Pods, their logs and Events")
}

// serverSide is the value of kubectl's --server-side, which has no effect:
// ordapply always uses server-side apply.
type serverSide struct{}

func (serverSide) String() string { return "true" }
func (serverSide) Type() string   { return "bool" }

func (serverSide) Set(text string) error {
	if yes, err := strconv.ParseBool(text); err != nil || !yes {
		return errors.New("ordapply always applies server-side: leave it out")
	}
	return nil
}
