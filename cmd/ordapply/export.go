package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/export"
	"github.com/ordapply/ordapply/internal/export/flux"
	"github.com/ordapply/ordapply/internal/healthfiles"
	"github.com/ordapply/ordapply/internal/orderfile"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/planning"
	"github.com/ordapply/ordapply/internal/usage"
)

// exportFlags are the flags of export.
type exportFlags struct {
	planning.Offline
	healthfiles.HealthFlags
	flux.Options
	to, output   string
	check, lossy bool
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --to ENGINE -f FILE -o FOLDER",
		Short: "Write the stream as a tree that Flux reconciles in the same order",
		Long: `export writes the manifests layer by layer into a folder, with the objects by which
the engine keeps their order: for Flux a Kustomization for each layer, which
depends on those before it, waits until its resources are ready by the same rules,
and prunes. Publish the folder as the source names it; Flux does the rest. What the
engine cannot keep of the order is an error that names each resource, or a warning
with --lossy. The same stream gives the same files. --check compares a folder with
what export would write now.`,
		Example: `  kustomize build . | ordapply export --to flux --source oci://registry.example/shop -o deploy
  ordapply export --to flux -f app.yaml --source ssh://git@git.example/shop --path deploy -o deploy --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Register(cmd)
	return cmd
}

// Register defines the flags.
func (f *exportFlags) Register(cmd *cobra.Command) {
	f.Offline.Register(cmd)
	f.HealthFlags.Register(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the engine: flux")
	flags.StringVarP(&f.output, "output", "o", "", "folder to write")
	flags.BoolVar(&f.check, "check", false, "write nothing; report in what the folder differs, with exit code 1 if it does")
	flags.BoolVar(&f.lossy, "lossy", false, "export although the engine cannot keep all of the order; what is lost is reported")
	flags.StringVar(&f.Name, "name", "app", "name of the source, with which the names of the layers' objects begin")
	flags.StringVar(&f.Options.Namespace, "engine-namespace", "flux-system", "namespace of the engine's objects")
	flags.StringVar(&f.Source.URL, "source", "", "address that the folder is published at: oci://registry/name, https://host/name.git, or https://endpoint/bucket")
	flags.StringVar(&f.Source.Kind, "source-kind", "", "OCIRepository, GitRepository or Bucket; by default what the address suggests")
	flags.StringVar(&f.Source.Ref, "source-ref", "", `tag or branch of the source; by default "latest" or "main"`)
	flags.BoolVar(&f.Source.Insecure, "source-insecure", false, "read an OCI registry or a bucket over plain HTTP")
	flags.StringVar(&f.Path, "path", "", "where in the source the folder is; by default at its root")
	flags.DurationVar(&f.Interval, "interval", time.Hour, "how often the engine reconciles what has not changed")
	flags.DurationVar(&f.Retry, "retry-interval", time.Minute, "how soon the engine tries again after a failure")
	flags.DurationVar(&f.Timeout, "timeout", 5*time.Minute, "how long a layer without a timeout of its own may take to become ready")
}

func (f *exportFlags) run(cmd *cobra.Command) error {
	if err := f.complete(); err != nil {
		return err
	}
	s, err := f.stream(cmd)
	if err != nil {
		return err
	}
	tree, err := flux.Export(s, f.Options)
	if err != nil {
		return err
	}
	for _, remark := range tree.Remarks {
		plain.Fprintf(cmd.ErrOrStderr(), "note: %s\n", remark)
	}
	if err := f.reportLost(cmd, tree.Lost); err != nil {
		return err
	}
	if f.check {
		return f.compare(cmd, tree)
	}
	return f.write(cmd, tree)
}

// complete checks the flags and fills in what they leave out.
func (f *exportFlags) complete() error {
	if err := usage.OneOf("to", f.to, "flux"); err != nil {
		return err
	}
	switch {
	case f.output == "":
		return usage.Errorf("name the folder to write with --output")
	case f.Source.URL == "":
		return usage.Errorf("name the address that the folder will be published at with --source")
	case export.Label(f.Name) != f.Name:
		return usage.Errorf("--name=%s: objects are named after it: write lower-case letters, digits and -, at most 40", f.Name)
	}
	if f.Source.Kind == "" {
		if f.Source.Kind = flux.KindOf(f.Source.URL); f.Source.Kind == "" {
			return usage.Errorf("--source=%s: write an address with oci://, https:// or ssh://, or name its kind with --source-kind", f.Source.URL)
		}
	}
	return usage.OneOf("source-kind", f.Source.Kind, flux.Kinds()...)
}

// stream reads and plans the manifests.
func (f *exportFlags) stream(cmd *cobra.Command) (*export.Stream, error) {
	stream, inputs, plan, err := f.LoadPlan(cmd)
	if err != nil {
		return nil, err
	}
	texts, err := documents(stream, inputs)
	if err != nil {
		return nil, err
	}
	assessor, err := f.Assessor(cmd.Context())
	if err != nil {
		return nil, err
	}
	if err := orderfile.UseHealthRules(cmd.Context(), assessor, f.Order); err != nil {
		return nil, err
	}
	for _, s := range plan.Skipped {
		plain.Fprintf(cmd.ErrOrStderr(), "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	return &export.Stream{Plan: plan, Objects: stream.Objects, Texts: texts, Assessor: assessor}, nil
}

// reportLost reports what the engine does not keep: as an error, or as warnings with
// --lossy.
func (f *exportFlags) reportLost(cmd *cobra.Command, lost []string) error {
	var errs []error
	for _, text := range lost {
		if f.lossy {
			plain.Fprintf(cmd.ErrOrStderr(), "warning: lost: %s\n", text)
			continue
		}
		errs = append(errs, errors.New(text))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.Join(append(errs, errors.New("nothing was written: change what is named above, or accept it with --lossy"))...)
}

// compare reports in what the folder differs from the tree.
func (f *exportFlags) compare(cmd *cobra.Command, tree *export.Tree) error {
	differences, err := tree.Compare(cmd.Context(), f.output)
	if err != nil {
		return err
	}
	for _, d := range differences {
		plain.Fprintf(cmd.OutOrStdout(), "%s: %s\n", d.Path, d.What)
	}
	if len(differences) > 0 {
		return errors.New(plain.Sprintf("%s of %s no longer match the order: export again", plain.Count(len(differences), "file"), f.output))
	}
	plain.Fprintf(cmd.ErrOrStderr(), "%s matches the order: %s\n", f.output, plain.Count(len(tree.Files), "file"))
	return nil
}

// write writes the tree.
func (f *exportFlags) write(cmd *cobra.Command, tree *export.Tree) error {
	differences, err := tree.Write(cmd.Context(), f.output)
	if err != nil {
		return err
	}
	plain.Fprintf(cmd.ErrOrStderr(), "%s of %s written to %s\n", plain.Count(len(differences), "file"), plain.Count(len(tree.Files), "file"), f.output)
	return nil
}
