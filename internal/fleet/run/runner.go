package run

import (
	"context"
	"errors"
	"io"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/operation"
	"github.com/ordapply/ordapply/operation/option"
)

// runner runs an operation on clusters.
type runner struct {
	options *Options
	console *console.Console
	out     report.Outputs
	cluster *genericclioptions.ConfigFlags // of the operation, for all clusters
	view    option.View
	output  string // the format of standard output
	writes  bool   // the operation writes to clusters
	lines   bool   // an error is lines in JSON
	limits  option.Limits
}

// Apply applies to the clusters. A plan file, which is about one cluster, is refused. ctx ends at
// an interrupt, and not at --timeout, which limits each run. The error joins those of the runs.
func (o *Options) Apply(ctx context.Context, c *console.Console, op operation.Apply, planFile string) error {
	r := &runner{options: o, console: c, out: report.OpenOutputs(c), cluster: op.Cluster, view: op.View, output: op.Output, writes: op.DryRun == "none", lines: true, limits: op.Limits}
	defer r.out.Close(ctx)
	clusters, err := r.clusters(ctx, "plan", planFile != "")
	if err == nil {
		err = errors.Join(usage.OneOf("output", op.Output, "text", "name", "json"), checkGates(op, clusters), checkFiles(op.View, clusters))
	}
	switch {
	case err != nil:
		err = r.refuse(err)
	case r.writes:
		err = r.apply(ctx, clusters, op)
	case r.isJSON() && op.DryRun == "server":
		err = r.eventsOf(ctx, clusters, op)
	default:
		err = r.compare(ctx, clusters, func(ctx context.Context, c *console.Console, of fleet.Cluster) error {
			return dryRunOn(of, op).RunOn(ctx, c)
		})
	}
	return report.Reported(err)
}

// Plan prints the plans for the clusters, equal ones once.
func (o *Options) Plan(ctx context.Context, c *console.Console, op operation.Plan) error {
	r := &runner{options: o, console: c, out: report.OpenOutputs(c), cluster: op.Cluster, output: op.Output}
	defer r.out.Close(ctx)
	clusters, err := r.clusters(ctx, "out", op.Out != "")
	if err != nil {
		return report.Reported(err)
	}
	op.Anonymous, op.CommentSize = true, share(op.CommentSize, len(clusters.Clusters()))
	return report.Reported(r.compare(ctx, clusters, func(ctx context.Context, c *console.Console, of fleet.Cluster) error {
		one := op
		one.Cluster = on(of, op.Cluster)
		return one.RunOn(ctx, c)
	}))
}

// dryRunOn returns the dry run for a cluster: only its results are printed, and no files are
// written.
func dryRunOn(of fleet.Cluster, op operation.Apply) operation.Apply {
	op.Cluster = on(of, op.Cluster)
	op.Report, op.MetricsFile, op.NoProgress = "", "", true
	return op
}

// clusters returns the fleet, within the time limit. It rejects options that do not go together
// with a fleet, and contexts that do not exist.
func (r *runner) clusters(ctx context.Context, planFlag string, planGiven bool) (*fleet.Fleet, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	ctx = r.console.Limit(ctx, r.limits.Timeout)
	errs := []error{r.options.checkCluster(r.cluster), r.options.checkOnePlan(planFlag, planGiven)}
	if r.output == "name" {
		errs = append(errs, usage.Errorf("-o name prints names without their cluster: with %s write -o text or -o json", r.options.flag()))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	clusters, err := r.options.read(ctx, r.console)
	if err != nil {
		return nil, err
	}
	return clusters, r.checkContexts(ctx, clusters)
}

// isJSON reports whether standard output is JSON.
func (r *runner) isJSON() bool { return r.output == "json" }

// run runs an operation on a cluster, within its time limit. Slow steps are reported with
// slow; nil: with the messages.
func (r *runner) run(ctx context.Context, out io.Writer, messages *lineWriter, slow func(string), do func(context.Context, *console.Console) error) error {
	defer messages.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	c := r.console.Share(out, messages, slow)
	ctx = c.Log.Retries(c.Limit(ctx, r.limits.Timeout))
	return report.WithInterrupt(ctx, do(ctx, c))
}
