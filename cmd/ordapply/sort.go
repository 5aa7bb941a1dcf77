package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/orderfile"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/planning"
	"github.com/ordapply/ordapply/internal/source"
	"github.com/ordapply/ordapply/internal/usage"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
)

func newSort() *cobra.Command {
	var in planning.Offline
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
				return sortByOrder(cmd, &in, marks)
			}
			return sortByPlan(cmd, &in, marks)
		},
	}
	in.Register(cmd)
	cmd.Flags().BoolVar(&marks, "marks", false, `print "## START layer: …" and "## END layer: …" where layers begin and end`)
	return cmd
}

func sortByOrder(cmd *cobra.Command, in *planning.Offline, marks bool) error {
	order, err := orderfile.ReadSortOrder(cmd.Context(), in.Order)
	if err != nil {
		return err
	}
	data, err := in.Bytes(cmd)
	if err != nil {
		return err
	}
	if in.Selector != "" && marks {
		return usage.Errorf("--marks shows where whole layers begin and end: leave out --selector")
	}
	out := fn.Function{Order: order, Marks: marks}.Run(data)
	fmt.Fprint(cmd.ErrOrStderr(), out.Findings.Remarks().Lines())
	if out.Findings.Failed() {
		return out.Findings.Err()
	}
	var stream bytes.Buffer
	if _, err := out.WriteTo(&stream); err != nil {
		return err
	}
	return writeSelected(cmd.OutOrStdout(), &in.InputFlags, stream.Bytes())
}

// writeSelected prints the documents of a stream that match the selector.
func writeSelected(w io.Writer, f *source.InputFlags, stream []byte) error {
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
			texts[i] = append(bytes.Trim(m.Text, "\r\n"), '\n')
		}
		stream = bytes.Join(texts, []byte("---\n"))
	}
	_, err = w.Write(stream)
	return err
}

// sortByPlan prints every document unchanged, in the plan's sequence; items of
// a List become documents.
func sortByPlan(cmd *cobra.Command, in *planning.Offline, marks bool) error {
	stream, inputs, plan, err := in.LoadPlan(cmd)
	if err != nil {
		return err
	}
	texts, err := planning.Texts(stream, inputs)
	if err != nil {
		return err
	}
	for _, s := range plan.Skipped {
		plain.Fprintf(cmd.ErrOrStderr(), "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	var out bytes.Buffer
	sequence := plan.Sequence()
	layer := func(i int) string {
		if !marks || i < 0 || i >= len(sequence) {
			return ""
		}
		return plan.LayerMark(plan.Steps[sequence[i]])
	}
	for i, at := range sequence {
		if i > 0 {
			out.WriteString("---\n")
		}
		if l := layer(i); l != "" && l != layer(i-1) {
			plain.Fprintf(&out, "## START layer: %s\n", l)
		}
		out.Write(texts[plan.Steps[at].ID])
		if l := layer(i); l != "" && l != layer(i+1) {
			plain.Fprintf(&out, "## END layer: %s\n", l)
		}
	}
	for _, hook := range stream.Hooks { // Helm ignores their position
		texts, err := planning.Texts(&apply.Stream{Resources: []ordering.Resource{hook}}, inputs)
		if err != nil {
			return err
		}
		out.WriteString("---\n")
		out.Write(texts[hook.ID])
	}
	_, err = cmd.OutOrStdout().Write(out.Bytes())
	return err
}
