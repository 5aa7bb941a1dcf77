package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

func newSort(c *console.Console) *cobra.Command {
	var in input.Offline
	var marks bool
	cmd := &cobra.Command{
		Use:   "sort -f FILE",
		Short: "Print the stream in order, without a cluster",
		Long: `sort prints the stream in the order in which it would be applied. With --order,
it sorts and stamps the stream by that SortOrder, as sortorder does in a build;
without it, it uses the order that the stream itself has.`,
		Example: `  ordapply sort -f app.yaml --order order.yaml
  helm template shop ./shop | ordapply sort --chart ./shop --marks`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Order != "" {
				if err := noPlanFlags(cmd); err != nil {
					return err
				}
				return sortByOrder(cmd.Context(), c, &in, marks)
			}
			return sortByPlan(cmd.Context(), c, &in, marks)
		},
	}
	in.Register(cmd.Flags())
	cmd.Flags().BoolVar(&marks, "marks", false, `print "## START layer: …" and "## END layer: …" where layers begin and end`)
	return cmd
}

// noPlanFlags rejects flags of a plan: a SortOrder sorts and stamps as in a build, where
// nothing is planned.
func noPlanFlags(cmd *cobra.Command) error {
	for _, name := range []string{"chart", "frame", "hooks", "prerequisite-kinds", "prerequisites"} {
		if flags.IsOnCommandLine(cmd.Flags().Lookup(name)) {
			return usage.Errorf("--%s has no effect with --order, which sorts as a build does: leave it out, or sort the stamped stream in a second step without --order", name)
		}
	}
	return nil
}

func sortByOrder(ctx context.Context, c *console.Console, in *input.Offline, marks bool) error {
	order, err := input.ReadSortOrder(ctx, c, in.Order)
	if err != nil {
		return err
	}
	data, err := in.Bytes(ctx, c)
	if err != nil {
		return err
	}
	if in.Selector != "" && marks {
		return usage.Errorf("--marks shows where whole layers begin and end: leave out --selector")
	}
	out := fn.Processor{Order: order, Marks: marks}.Run(data)
	fmt.Fprint(c.Err, out.Findings.Remarks().Lines())
	if out.Findings.Failed() {
		return out.Findings.Err()
	}
	var stream bytes.Buffer
	if _, err := out.WriteTo(&stream); err != nil {
		return err
	}
	return writeSelected(c.Out, &in.Source, stream.Bytes())
}

// writeSelected prints the documents of a stream that match the selector.
func writeSelected(w io.Writer, f *input.Source, stream []byte) error {
	matches, err := f.Matcher()
	if err != nil {
		return err
	}
	if f.Selector != "" {
		manifests, err := manifest.Read("the sorted stream", bytes.NewReader(stream))
		if err != nil {
			return err
		}
		manifests = slices.DeleteFunc(manifests, func(m manifest.Manifest) bool { return !matches(m.GetLabels()) })
		texts := make([][]byte, len(manifests))
		for i, m := range manifests {
			texts[i] = input.Document(m.Text)
		}
		stream = bytes.Join(texts, []byte("---\n"))
	}
	_, err = w.Write(stream)
	return err
}

// sortByPlan prints every document unchanged, in the plan's sequence; items of
// a List become documents.
func sortByPlan(ctx context.Context, c *console.Console, in *input.Offline, marks bool) error {
	stream, inputs, plan, err := in.LoadPlan(ctx, c)
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	texts, err := input.Texts(stream, inputs)
	if err != nil {
		return err
	}
	for _, s := range plan.Skipped {
		plain.Fprintf(c.Err, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	sequence := plan.Sequence()
	if plan.OrderSource == ordering.OrderSourceStamps {
		sequence = plan.SequenceBy(sortorder.CompareTypes()) // stamps record no type order
	}
	layer := func(i int) string {
		if !marks || i < 0 || i >= len(sequence) {
			return ""
		}
		return plan.LayerMark(plan.Steps[sequence[i]])
	}
	documents, last, err := hookTexts(stream, inputs, plan)
	if err != nil {
		return err
	}
	for i, at := range sequence {
		var text bytes.Buffer
		if l := layer(i); l != "" && l != layer(i-1) {
			plain.Fprintf(&text, "## START layer: %s\n", l)
		}
		text.Write(texts[plan.Steps[at].ID])
		if l := layer(i); l != "" && l != layer(i+1) {
			plain.Fprintf(&text, "## END layer: %s\n", l)
		}
		documents = append(documents, text.Bytes())
	}
	_, err = c.Out.Write(bytes.Join(append(documents, last...), []byte("---\n")))
	return err
}

// hookTexts returns the documents of the hooks before and after the resources: Argo CD's
// PreSync hooks go first. Helm ignores their position.
func hookTexts(stream *apply.Stream, inputs []apply.Input, plan *ordering.Plan) (first, last [][]byte, err error) {
	for _, hook := range stream.Hooks {
		texts, err := input.Texts(&apply.Stream{Resources: []ordering.Resource{hook}}, inputs)
		if err != nil {
			return nil, nil, err
		}
		before := slices.ContainsFunc(plan.Hooks, func(h ordering.PlannedHook) bool { return h.ID == hook.ID && h.Event == string(authorhook.PreSync) })
		if before {
			first = append(first, texts[hook.ID])
		} else {
			last = append(last, texts[hook.ID])
		}
	}
	return first, last, nil
}
