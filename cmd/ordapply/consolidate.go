package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/author/consolidate"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
)

// consolidateFlags are the flags of consolidate.
type consolidateFlags struct {
	input.Offline
	target consolidateTarget
	output string
}

func newConsolidate(c *console.Console) *cobra.Command {
	var f consolidateFlags
	cmd := &cobra.Command{
		Use:   "consolidate -f FILE",
		Short: "Renumber Argo CD sync waves into as few as the dependencies allow",
		Long: `consolidate merges consecutive sync waves. It keeps the order of any two
resources that an edge connects, merges waves that are provably independent, and
lists those that are not; these are merged only with --assume-independent, or as
far as needed for --into or --range. Where merging neighbours leaves too many
waves for these, add --assume-independent: waves are then numbered by the
longest path of edges to them, which may change the order of waves that no edge
connects. -o stream prints the manifests with the new numbers. With --order,
each application of a stack has its own waves.`,
		Example: `  ordapply consolidate -f platform.yaml --range -3..3
  ordapply consolidate -f platform.yaml --into 7 -o stream > renumbered.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, c) },
	}
	f.Register(cmd.Flags())
	f.target.register(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", `"text": the new number of each wave; "stream": the manifests with the new numbers`)
	return cmd
}

func (f *consolidateFlags) run(cmd *cobra.Command, c *console.Console) error {
	if err := usage.OneOf("output", f.output, "text", "stream"); err != nil {
		return err
	}
	wanted, err := f.target.read(cmd)
	if err != nil {
		return err
	}
	inputs, options, err := f.Load(cmd.Context(), c)
	if err != nil {
		return err
	}
	stream, err := input.CheckedStream(inputs, f.Scope())
	if err != nil {
		return err
	}
	consolidation, err := consolidate.Waves(stream.Resources, options, wanted)
	if err != nil {
		return err
	}
	if f.output == "text" {
		return printConsolidation(c.Out, consolidation, wanted)
	}
	texts, err := input.Texts(stream, inputs)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for i, r := range stream.Resources {
		text := texts[r.ID]
		if wave, ok := consolidation.Renumbered[r.ID]; ok {
			if text, err = renumber(text, wave); err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	_, err = c.Out.Write(out.Bytes())
	return err
}

// consolidateTarget holds the flags that limit the number of waves.
type consolidateTarget struct {
	assume bool
	into   int
	within string
}

func (t *consolidateTarget) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.assume, "assume-independent", false, "merge waves that no edge connects, even if an edge may be missing; with --into or --range, only as many as needed, and not only neighbours")
	cmd.Flags().IntVar(&t.into, "into", 0, "maximum number of waves: merge waves that no edge connects, closest numbers first; fails if edges between neighbours prevent it")
	cmd.Flags().StringVar(&t.within, "range", "", "lowest and highest new number, such as -3..3; implies --into with that many waves")
}

func (t *consolidateTarget) read(cmd *cobra.Command) (consolidate.Target, error) {
	out := consolidate.Target{AssumeIndependent: t.assume, Into: t.into}
	switch {
	case cmd.Flags().Changed("into") && t.into < 1:
		return out, usage.Errorf("--into=%d: must be at least 1", t.into)
	case t.within == "":
		return out, nil
	}
	low, high, found := strings.Cut(t.within, "..")
	from, err := strconv.Atoi(low)
	to, highErr := strconv.Atoi(high)
	if !found || err != nil || highErr != nil || from > 0 || to < 0 {
		return out, usage.Errorf("--range=%s: write the lowest and the highest number with 0 between them, such as -3..3", t.within)
	}
	out.Range = &consolidate.WaveRange{Low: from, High: to}
	return out, nil
}

// printConsolidation prints the result for each wave.
func printConsolidation(w io.Writer, c *consolidate.Result, target consolidate.Target) error {
	var out bytes.Buffer
	now := map[string]bool{}
	unproven := 0
	for _, wave := range c.Waves {
		now[fmt.Sprint(wave.Application, wave.Phase, wave.NewWave)] = true
		if wave.Application != "" {
			plain.Fprintf(&out, "%s ", wave.Application)
		}
		plain.Fprintf(&out, "%s wave %d, %s: now %d", wave.Phase, wave.Wave, plain.Count(wave.Resources, "resource"), wave.NewWave)
		if wave.Because != "" {
			plain.Fprintf(&out, "; %s: %s", boundaryWords(wave.Boundary), wave.Because)
		}
		if wave.Boundary == consolidate.BoundaryUnproven {
			unproven++
		}
		out.WriteByte('\n')
	}
	plain.Fprintf(&out, "%s become %d, %s changed", plain.Count(len(c.Waves), "wave"), len(now), plain.Count(len(c.Renumbered), "resource"))
	if c.Swapped > 0 {
		plain.Fprintf(&out, "; numbered by the longest path of edges: %s of waves that no edge connects %s their order", plain.Count(c.Swapped, "pair"), map[bool]string{true: "changes", false: "change"}[c.Swapped == 1])
	}
	if unproven > 0 && target.Into == 0 && target.Range == nil {
		plain.Fprintf(&out, "; %d more could be merged with --assume-independent", unproven)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

func boundaryWords(b consolidate.Boundary) string {
	switch b {
	case consolidate.BoundaryKept:
		return "not merged"
	case consolidate.BoundaryUnproven:
		return "not merged, independence not proven"
	case consolidate.BoundaryAssumed:
		return "merged, independence not proven"
	}
	return "merged"
}
