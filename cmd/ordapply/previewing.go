package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/ordering"
)

// previewFlags are the flags of plan and diff: those of apply's flags that
// affect the result.
type previewFlags struct {
	inputFlags
	planningFlags
	setFlags
	cluster        *genericclioptions.ConfigFlags
	fieldManager   string
	forceConflicts bool
}

func (f *previewFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster = genericclioptions.NewConfigFlags(true)
	f.inputFlags.register(flags)
	f.planningFlags.register(flags)
	f.registerMembership(flags)
	registerServerSide(flags)
	addClusterFlags(flags, f.cluster)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name of the field manager that would own the applied fields")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false, "show the result of taking fields that other field managers own")
	flags.Bool("ordering", true, "in waves; false: everything at once")
}

// previewed is a plan with its preview.
type previewed struct {
	target  *target
	plan    *ordering.Plan
	preview *apply.Preview
	hooks   []ordering.Resource // the hooks of the stream
}

// preview reads the manifests and runs server-side dry runs of applying them.
func (f *previewFlags) preview(cmd *cobra.Command) (*previewed, error) {
	if err := errors.Join(f.check(), f.checkSet(f.set)); err != nil {
		return nil, err
	}
	inputs, options, err := readAll(cmd, &f.inputFlags, &f.planningFlags, scopeOf(f.cluster, f.set))
	if err != nil {
		return nil, err
	}
	p := &previewed{}
	if p.target, err = connect(cmd.Context(), f.cluster, func(*rest.Config) {}); err != nil {
		return nil, offerOffline(err)
	}
	if f.set != "" {
		p.target.scope.Enforce = false // --namespace is the set's; members may be in other namespaces
	}
	stream, plan, err := f.planStream(inputs, p.target.scope, &options, p.target)
	if err != nil {
		return nil, err
	}
	p.plan, p.hooks = plan, stream.Hooks
	if _, err := gates(p.plan, stream, true); err != nil {
		return nil, err
	}
	p.plan.Notes = append(p.plan.Notes, p.target.undiscoveredNotes(stream)...)
	applier := apply.Applier{
		Cluster:        p.target.cluster,
		Manager:        f.fieldManager,
		ForceConflicts: f.forceConflicts,
		Health:         &health.Assessor{},
	}
	if p.preview, err = f.setFlags.preview(cmd, session{target: p.target, stream: stream, plan: p.plan}, applier); err == nil {
		p.plan.Notes = append(p.plan.Notes, p.preview.Notes...)
	}
	return p, err
}

// preview returns the preview of a job, for an apply set if one is given.
func (f *setFlags) preview(cmd *cobra.Command, j session, applier apply.Applier) (*apply.Preview, error) {
	if f.set == "" {
		return applier.Preview(cmd.Context(), j.plan, j.stream.Objects)
	}
	run, err := f.open(cmd.Context(), j, applier, reporters{}, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return run.Preview(cmd.Context())
}

// offerOffline adds a hint how to plan without a cluster.
func offerOffline(err error) error {
	if errors.Is(err, errNoCluster) {
		return errNoClusterToAsk
	}
	return err
}

var errNoClusterToAsk = errors.New("no cluster: kubeconfig not found, or it names no cluster; set KUBECONFIG or --kubeconfig, or see the waves without a cluster with ordapply plan --dry-run=client")
