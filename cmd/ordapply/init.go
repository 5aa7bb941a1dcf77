package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/draft"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// initFlags are the flags of init.
type initFlags struct {
	input.Offline
	name, output string
	force        bool
}

func newInit(c *console.Console) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init -f FILE",
		Short: "Write a SortOrder for a stream, as a draft to review",
		Long: `init proposes the layers of a stream, without a cluster: from the labels or
annotations that group its resources, its edges, Argo CD's sync waves, and the
usual order of kinds. Comments explain each layer. Layers without an edge
between them do not wait for each other: review the file, and add the order that
the manifests do not state.`,
		Example: `  kustomize build . | ordapply init > order.yaml
  ordapply init -f app.yaml -o order.yaml
  ordapply plan -f app.yaml --order order.yaml --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), c) },
	}
	f.Register(cmd.Flags())
	cmd.Flags().StringVar(&f.name, "name", "default", "name of the order, which the stamps contain")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "file to write instead of standard output")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace the file of --output if it exists")
	return cmd
}

func (f *initFlags) run(ctx context.Context, c *console.Console) error {
	if err := f.check(); err != nil {
		return err
	}
	inputs, options, err := f.Load(ctx, c)
	if err != nil {
		return err
	}
	frameless := options // Helm's hooks run around the plan of a SortOrder in any stream
	frameless.OrderSource = ordering.OrderSourceNone
	stream, err := input.CheckedStream(input.MarkHooks(inputs, &frameless), f.Scope())
	if err != nil {
		return err
	}
	order, err := draft.Propose(asWritten(stream.Resources, inputs), options, f.name)
	if err != nil {
		return err
	}
	for _, hook := range stream.Hooks {
		order.Hooks = append(order.Hooks, hook.ID)
	}
	order.LocalConfig = f.inPackage()
	text := order.YAML()
	if _, err := sortorder.Parse(text); err != nil {
		return usage.Errorf("--name: %w", err) // the rest is valid by construction
	}
	if f.output == "" {
		_, err := c.Out.Write(text)
		return err
	}
	if err := files.Write(ctx, f.output, 0o644, text); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	plain.Fprintf(c.Err, "%s written: %s; read it, then try ordapply plan --order %s\n", f.output, plain.Count(len(order.Entries()), "layer"), plain.ShellQuote(f.output))
	return nil
}

// inPackage reports whether the order, or a file or folder of -f, is in a folder with a Kptfile.
// kustomize would silently ignore an annotated order under resources:, so others have none.
func (f *initFlags) inPackage() bool {
	return slices.ContainsFunc(append([]string{f.output}, f.Files...), func(name string) bool {
		folder := filepath.Dir(name)
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			folder = name
		}
		_, err := os.Stat(filepath.Join(folder, "Kptfile"))
		return err == nil
	})
}

// asWritten returns resources with their manifests as they were read: selectors do not see
// the namespace that a stream adds.
func asWritten(resources []ordering.Resource, inputs []apply.Input) []ordering.Resource {
	type position struct{ source, kind, name string }
	objects := map[position]map[string]any{}
	for _, in := range inputs {
		objects[position{in.Source, in.Object.GetKind(), in.Object.GetName()}] = in.Object.Object
	}
	out := slices.Clone(resources)
	for i, r := range out {
		out[i].Object = objects[position{r.Source, r.Kind, r.Name}]
	}
	return out
}

// check rejects flags that contradict each other, and a file that exists.
func (f *initFlags) check() error {
	switch {
	case f.Order != "":
		return usage.Errorf("--order names an order, and init writes one: leave out --order, or keep that order and try it with ordapply plan")
	case f.force && f.output == "":
		return usage.Errorf("--force replaces the file of --output: name one")
	case f.output == "":
		return nil
	}
	if err := files.CheckWritable(f.output); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	info, err := os.Stat(f.output)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular(), f.force:
		return nil
	case err != nil:
		return fmt.Errorf("--output: %w", err)
	}
	return fmt.Errorf("--output: %s exists: name another file, or replace it with --force", f.output)
}
