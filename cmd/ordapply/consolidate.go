package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

func newConsolidate() *cobra.Command {
	var in offline
	var assume bool
	var output string
	cmd := &cobra.Command{
		Use:   "consolidate -f FILE",
		Short: "Renumber a wide range of Argo CD sync waves into the few that mean something",
		Long: `consolidate merges sync waves in a row. It keeps the order of any two resources
that an edge connects, merges what it proves independent, and says what it can
not prove; that is merged only with --assume-independent. -o stream prints the
manifests with the new numbers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "text", "stream"); err != nil {
				return err
			}
			inputs, options, err := in.load(cmd)
			if err != nil {
				return err
			}
			stream, err := apply.NewStream(inputs, in.scope())
			if err != nil {
				return err
			}
			consolidation, err := ordering.Consolidate(stream.Resources, options, assume)
			if err != nil {
				return err
			}
			if output == "text" {
				return tell(cmd.OutOrStdout(), consolidation)
			}
			texts, err := documents(stream, inputs)
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
			_, err = cmd.OutOrStdout().Write(out.Bytes())
			return err
		},
	}
	in.register(cmd)
	cmd.Flags().BoolVar(&assume, "assume-independent", false, "merge waves that no edge connects, though nothing proves that none is missing")
	cmd.Flags().StringVarP(&output, "output", "o", "text", `"text": what becomes of each wave; "stream": the manifests with the new numbers`)
	return cmd
}

// tell prints what becomes of each wave.
func tell(w io.Writer, c *ordering.Consolidation) error {
	var out bytes.Buffer
	now := map[string]bool{}
	unproven := 0
	for _, wave := range c.Waves {
		now[fmt.Sprint(wave.Phase, wave.To)] = true
		plain.Fprintf(&out, "%s wave %d, %s: now %d", wave.Phase, wave.Wave, plural(wave.Resources, "resource"), wave.To)
		if wave.Because != "" {
			plain.Fprintf(&out, "; %s: %s", boundaryWords(wave.Boundary), wave.Because)
		}
		if wave.Boundary == ordering.Unproven {
			unproven++
		}
		out.WriteByte('\n')
	}
	plain.Fprintf(&out, "%s become %d, %s changed", plural(len(c.Waves), "wave"), len(now), plural(len(c.Renumbered), "resource"))
	if unproven > 0 {
		plain.Fprintf(&out, "; %d more could be merged with --assume-independent", unproven)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

func boundaryWords(b ordering.Boundary) string {
	switch b {
	case ordering.Kept:
		return "not merged"
	case ordering.Unproven:
		return "not merged, not proven"
	case ordering.Assumed:
		return "merged, not proven"
	}
	return "merged"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
