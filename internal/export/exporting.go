package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/console"
	cliflags "github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/export/argocd"
	"github.com/ordapply/ordapply/internal/export/flux"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/operation/option"
)

// exportFlags are the flags of export.
type exportFlags struct {
	input.Offline
	option.Health
	flux         flux.Options
	argocd       argocd.Options
	to, output   string
	fleetFile    string
	check, lossy bool
}

// NewCommand returns the verb.
func NewCommand(c *console.Console) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --to ENGINE -f FILE -o FOLDER",
		Short: "Write the stream as a tree that Flux or Argo CD applies in the same order",
		Long: `export writes the manifests layer by layer into a folder, with the objects that
make the engine keep their order: for Flux, Kustomizations that wait for the
previous ones with the same readiness rules; for Argo CD, Applications or an
ApplicationSet, with the health checks that Argo CD lacks. Publish the folder at
--source. A part of the order that the engine cannot keep is an error, or a
warning with --lossy.

The folder stores the options in export.yaml: without --to they are used again,
except flags that name files. --check writes nothing, and lists the files of a
folder that an export would change.`,
		Example: `  kustomize build . | ordapply export --to flux --source oci://registry.example/shop -o deploy
  kustomize build . | ordapply export -o deploy
  kustomize build . | ordapply export --check deploy`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, c, args) },
	}
	f.register(cmd.Flags())
	return cmd
}

// register defines the flags.
func (f *exportFlags) register(flags *pflag.FlagSet) {
	f.Offline.Register(flags)
	cliflags.Health(flags, &f.Health)
	flags.StringVar(&f.to, "to", "", "engine: flux or argocd; by default, the options of the previous export of the folder are used again")
	flags.StringVarP(&f.output, "output", "o", "", "folder to write")
	flags.BoolVar(&f.check, "check", false, "write nothing; list the files of the folder that an export would change, and exit with 1 if there are any")
	flags.BoolVar(&f.lossy, "lossy", false, "export even if the engine cannot keep the whole order; report what is lost")
	flags.StringVar(&f.flux.Name, "name", "app", "name of the engine's object, and prefix of the names of the layers' objects")
	flags.StringVar(&f.flux.Namespace, "engine-namespace", "", `namespace of the engine's objects; by default "flux-system" or "argocd"`)
	flags.StringVar(&f.flux.Source.URL, "source", "", "URL at which the folder is published: oci://registry/name, https://host/name.git, or https://endpoint/bucket")
	flags.StringVar(&f.flux.Source.Ref, "source-ref", "", `tag or branch of the source; by default "latest" of a registry, "main" of a repository`)
	flags.StringVar(&f.flux.Path, "path", "", "path of the folder in the source; by default its root")
	flags.StringVar(&f.flux.Source.Kind, "source-kind", "", "flux: OCIRepository, GitRepository or Bucket; by default inferred from the URL")
	flags.BoolVar(&f.flux.Source.Insecure, "source-insecure", false, "flux: read a registry or a bucket over plain HTTP")
	flags.DurationVar(&f.flux.Interval, "interval", time.Hour, "flux: how often to reconcile without a change")
	flags.DurationVar(&f.flux.Retry, "retry-interval", time.Minute, "flux: how soon to retry after a failure")
	flags.DurationVar(&f.flux.Timeout, "timeout", 5*time.Minute, "flux: how long a layer without a timeout of its own may take to become ready")
	flags.StringVar(&f.argocd.Form, "form", argocd.OneApplication, "argocd: application, with sync waves; app-of-apps, one for each layer; or applicationset, with a rolling sync")
	flags.StringVar(&f.argocd.Project, "project", "default", "argocd: project of the Applications")
	flags.StringVar(&f.fleetFile, "fleet", "", "argocd, form applicationset: file with the Fleet to deploy to")
	flags.StringVar(&f.argocd.Server, "server", "https://kubernetes.default.svc", "argocd: API server of the cluster to deploy to, as Argo CD knows it")
}

// The engines.
const (
	toFlux   = "flux"
	toArgoCD = "argocd"
)

func (f *exportFlags) run(cmd *cobra.Command, c *console.Console, args []string) error {
	if err := f.nameFolder(args); err != nil {
		return err
	}
	if f.to == "" {
		if err := f.useOptions(cmd.Context(), cmd.Flags()); err != nil {
			return err
		}
	}
	if err := f.complete(); err != nil {
		return err
	}
	if err := f.readFleet(cmd, c); err != nil {
		return err
	}
	s, err := f.stream(cmd.Context(), c)
	if err != nil {
		return err
	}
	tree, err := f.export(s)
	if err != nil {
		return err
	}
	if err := tree.AddOptions(f.options(cmd.Flags())); err != nil {
		return err
	}
	for _, remark := range tree.Remarks {
		plain.Fprintf(c.Err, "note: %s\n", remark)
	}
	if err := f.reportLost(c, tree.Lost); err != nil {
		return err
	}
	if f.check {
		return f.compare(cmd.Context(), c, tree)
	}
	return f.write(cmd.Context(), c, tree)
}

// nameFolder takes the folder from the argument.
func (f *exportFlags) nameFolder(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !f.check:
		return usage.Errorf("name the folder to write with --output, and manifests with --filename")
	case f.output != "":
		return usage.Errorf("two folders are named, %s and --output=%s: name one", args[0], f.output)
	}
	f.output = args[0]
	return nil
}

// export returns the tree for the engine.
func (f *exportFlags) export(s *units.Stream) (*units.Tree, error) {
	if f.to == toFlux {
		return flux.Export(s, f.flux)
	}
	return argocd.Export(s, f.argocd)
}

// complete checks the flags and fills in missing values.
func (f *exportFlags) complete() error {
	if err := usage.OneOf("to", f.to, toFlux, toArgoCD); err != nil {
		return err
	}
	source := &f.flux.Source
	switch {
	case f.output == "":
		return usage.Errorf("name the folder to write with --output")
	case source.URL == "":
		return usage.Errorf("name the address that the folder will be published at with --source")
	case units.Label(f.flux.Name) != f.flux.Name:
		return usage.Errorf("--name=%s: objects are named after it: write lower-case letters, digits and -, at most 40", f.flux.Name)
	}
	if source.Kind == "" {
		if source.Kind = flux.KindOf(source.URL); source.Kind == "" {
			return usage.Errorf("--source=%s: write an address with oci://, https:// or ssh://, or name its kind with --source-kind", source.URL)
		}
	}
	if err := usage.OneOf("source-kind", source.Kind, flux.Kinds()...); err != nil {
		return err
	}
	if source.Ref == "" {
		source.Ref = flux.DefaultRef(source.Kind)
	}
	f.flux.Namespace = cmp.Or(f.flux.Namespace, map[string]string{toFlux: "flux-system", toArgoCD: "argocd"}[f.to])
	f.argocd.Name, f.argocd.Namespace, f.argocd.Path = f.flux.Name, f.flux.Namespace, f.flux.Path
	f.argocd.RepoURL, f.argocd.Revision = source.URL, source.Ref
	return usage.OneOf("form", f.argocd.Form, argocd.Forms()...)
}

// readFleet reads the fleet, if flags name one.
func (f *exportFlags) readFleet(cmd *cobra.Command, c *console.Console) error {
	server := cmd.Flags().Lookup("server")
	switch {
	case f.fleetFile == "":
		return nil
	case f.to != toArgoCD:
		return usage.Errorf("--fleet: Flux has no order between clusters: publish the tree of an export without --fleet, let Flux on each cluster read it, and promote its revision from cohort to cohort; or use ordapply apply --fleet, or --to=%s --form=%s", toArgoCD, argocd.ApplicationSet)
	case f.argocd.Form != argocd.ApplicationSet:
		return usage.Errorf("--fleet: --form=%s deploys to one cluster: use --form=%s", f.argocd.Form, argocd.ApplicationSet)
	case server.Value.String() != server.DefValue:
		return usage.Errorf("--fleet and --server are both given: the clusters of the fleet are those that are deployed to: leave out --server")
	}
	text, err := c.ReadFile(cmd.Context(), f.fleetFile, "--fleet")
	if err != nil {
		return fmt.Errorf("read the fleet: %w", err)
	}
	if f.argocd.Fleet, err = fleet.Parse(f.fleetFile, text); err != nil {
		return err
	}
	if err := argocd.CheckFleet(f.argocd.Fleet, f.argocd.Name); err != nil {
		return fmt.Errorf("%s: %w", f.fleetFile, err)
	}
	return nil
}

// stream reads and plans the manifests.
func (f *exportFlags) stream(ctx context.Context, c *console.Console) (*units.Stream, error) {
	f.SyncHooksAreSteps = true
	stream, inputs, plan, err := f.LoadPlan(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := plan.Err(); err != nil {
		return nil, err
	}
	texts, err := input.Texts(stream, inputs)
	if err != nil {
		return nil, err
	}
	assessor, err := input.Assessor(ctx, c, f.Health)
	if err != nil {
		return nil, err
	}
	if err := input.UseHealthRules(ctx, c, assessor, f.Order); err != nil {
		return nil, err
	}
	for _, s := range plan.Skipped {
		plain.Fprintf(c.Err, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	hooks, err := input.Texts(&apply.Stream{Resources: stream.Hooks}, inputs)
	if err != nil {
		return nil, err
	}
	return &units.Stream{Plan: plan, Objects: stream.Objects, Texts: texts, Hooks: hooks, Assessor: assessor}, nil
}

// reportLost reports the losses of the tree: as an error, or as warnings with --lossy.
func (f *exportFlags) reportLost(c *console.Console, lost []string) error {
	var errs []error
	for _, text := range lost {
		if f.lossy {
			plain.Fprintf(c.Err, "warning: lost: %s\n", text)
			continue
		}
		errs = append(errs, errors.New(text))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.Join(append(errs, errors.New("nothing was written: change what is named above, or accept it with --lossy"))...)
}

// compare lists the files of the folder that an export would change.
func (f *exportFlags) compare(ctx context.Context, c *console.Console, tree *units.Tree) error {
	differences, err := tree.Compare(ctx, f.output)
	if err != nil {
		return err
	}
	for _, d := range differences {
		plain.Fprintln(c.Out, d.String())
	}
	if len(differences) > 0 {
		return errors.New(plain.Sprintf("%s does not match the export in %s: run ordapply export again, or undo the edit", f.output, plain.Count(len(differences), "file")))
	}
	plain.Fprintf(c.Err, "%s matches the export: %s\n", f.output, plain.Count(len(tree.Files), "file"))
	return nil
}

// write writes the tree.
func (f *exportFlags) write(ctx context.Context, c *console.Console, tree *units.Tree) error {
	changed, err := tree.Write(ctx, f.output)
	if err != nil {
		return err
	}
	plain.Fprintf(c.Err, "%d of %s written to %s\n", changed, plain.Count(len(tree.Files), "file"), f.output)
	return nil
}
