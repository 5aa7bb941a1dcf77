package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/ordering"
)

// Plan shows the changes of an apply.
type Plan struct {
	Preview
	// DryRun is server, or client to plan without a cluster.
	DryRun string
	// Output is the format of standard output: text, json or markdown.
	Output string
	// All also lists the resources that would not change, as text.
	All bool
	// CommentSize is the size of a comment in Markdown, in bytes, at most.
	CommentSize int
	// Out is a file to which the plan is written.
	Out string
	// Anonymous leaves out the address and the context of the cluster in JSON and Markdown.
	Anonymous bool
}

// NewPlan returns the default options.
func NewPlan() Plan {
	return Plan{Preview: NewPreview(), DryRun: "server", Output: "text", CommentSize: plan.CommentSize}
}

// RunOn prints the plan. It returns the errors of planning, and those that the apply would have.
func (p Plan) RunOn(ctx context.Context, c *console.Console) error {
	if err := p.check(); err != nil {
		return err
	}
	if p.DryRun == "client" {
		return p.runOffline(ctx, c)
	}
	if p.Out != "" {
		if err := files.CheckWritable(p.Out); err != nil {
			return usage.Errorf("--out=%s: %w", p.Out, err)
		}
	}
	previewed, err := p.run(ctx, c)
	if err != nil {
		return err
	}
	previewed.Anonymous = p.Anonymous
	switch p.Output {
	case "json":
		err = previewed.WriteJSON(c.Out)
	case "markdown":
		err = previewed.WriteMarkdown(c.Out, p.CommentSize)
	default:
		plain.Fprintf(c.Err, "planning for %s; nothing is written; %s\n", previewed.Target, previewed.Plan.OrderedBy())
		err = previewed.WriteText(c.Out, plan.StyleFor(c, p.All))
	}
	previewed.Warn(c.Err)
	if err = errors.Join(err, previewed.Preview.Err()); err != nil || p.Out == "" {
		return err
	}
	return p.save(ctx, previewed)
}

func (p *Plan) check() error {
	if err := usage.OneOf("output", p.Output, "text", "json", "markdown"); err != nil {
		return err
	}
	if p.CommentSize < plan.MinCommentSize {
		return usage.Errorf("--comment-size=%d: write at least %d", p.CommentSize, plan.MinCommentSize)
	}
	switch {
	case p.DryRun == "client" && p.Out != "":
		return usage.Errorf("--out stores a plan made with the cluster: leave out --dry-run=client")
	case p.DryRun == "client", p.DryRun == "server", p.DryRun == "none": // "none" is the default of apply and may be in a config file
		return nil
	}
	return usage.Errorf("--dry-run=%s: write server or client", p.DryRun)
}

// runOffline plans without a cluster.
func (p *Plan) runOffline(ctx context.Context, c *console.Console) error {
	in := input.Offline{Source: p.source(), Namespace: cmp.Or(*p.Cluster.Namespace, "default")}
	stream, _, planned, err := in.LoadPlan(ctx, c)
	if err != nil {
		return err
	}
	planned.Notes = append(planned.Notes, rejectedNotes(stream.Resources)...)
	if p.Prune {
		plain.Fprintln(c.Err, "note: only the cluster knows what --prune would delete: leave out --dry-run=client to see it")
	}
	return errors.Join(p.writeOffline(c, planned), planned.Err())
}

// rejectedNotes returns a note about resources that the API server would not create. It is no
// error, because the server may accept them as changes of objects that exist.
func rejectedNotes(resources []ordering.Resource) []string {
	found := lint.Rejected(resources, condition.MatchConditions())
	if len(found) == 0 {
		return nil
	}
	first := strings.ReplaceAll(found[0].Text, "\n", "; ")
	note := fmt.Sprintf("the API server would not create %s of these manifests: %s", plain.Count(len(found), "object"), first)
	if more := len(found) - 1; more > 0 {
		note += fmt.Sprintf("; and %d more, which ordapply vet lists", more)
	}
	return []string{note}
}

// writeOffline prints a plan that was made without a cluster.
func (p *Plan) writeOffline(c *console.Console, planned *ordering.Plan) error {
	switch p.Output {
	case "json":
		return drawing.PlanJSON(c.Out, planned)
	case "markdown":
		return plan.MarkdownWaves(c.Out, planned, p.CommentSize)
	}
	return plan.WriteWaves(c.Out, planned, plan.StyleFor(c, true))
}

// Diff shows the changes of an apply as a unified diff.
type Diff struct{ Preview }

// NewDiff returns the default options.
func NewDiff() Diff { return Diff{NewPreview()} }

// RunOn prints the diff. It returns plan.ErrDifferent if there are differences.
func (d Diff) RunOn(ctx context.Context, c *console.Console) error {
	previewed, err := d.run(ctx, c)
	if err != nil {
		return err
	}
	return previewed.Diff(ctx, c)
}

// offerOffline adds a hint how to plan without a cluster.
func offerOffline(err error) error {
	if errors.Is(err, connect.ErrNoCluster) {
		return errNoClusterToAsk
	}
	return err
}

var errNoClusterToAsk = errors.New("no cluster: kubeconfig not found, or it names no cluster; set KUBECONFIG or --kubeconfig, or see the waves without a cluster with ordapply plan --dry-run=client")
