package flags

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/operation/option"
)

// The functions of this file define the flags that fill options. Their defaults are the values
// that the options have.

// Manifests defines -f, -k and the other flags that select manifests.
func Manifests(flags *pflag.FlagSet, o *option.Manifests) {
	Files(flags, o, "manifests")
	flags.StringVarP(&o.Kustomize, "kustomize", "k", o.Kustomize, "folder with a kustomization to build, instead of -f")
	flags.BoolVar(&o.Plugins, "enable-alpha-plugins", o.Plugins, "with -k, let the kustomization run functions")
	flags.BoolVar(&o.Exec, "enable-exec", o.Exec, "with -k and --enable-alpha-plugins, let functions run programs on this machine")
	flags.StringVarP(&o.Selector, "selector", "l", o.Selector, "use only the resources whose labels match, as in kubectl: =, ==, !=, in, notin, exists; dependents of other resources wait for these in the cluster")
	flags.StringVar(&o.Order, "order", o.Order, "file with a SortOrder to stamp the stream with")
	flags.BoolVar(&o.RequireOrder, "require-order", o.RequireOrder, "refuse a stream without an order")
}

// Files defines -f and -R, for files with what, such as "objects".
func Files(flags *pflag.FlagSet, o *option.Manifests, what string) {
	flags.StringSliceVarP(&o.Files, "filename", "f", o.Files, "file, folder, pattern such as '*.yaml', or URL with "+what+"; - for standard input")
	flags.BoolVarP(&o.Recursive, "recursive", "R", o.Recursive, "read subfolders too")
}

// Planning defines the flags that select the sources of the order.
func Planning(flags *pflag.FlagSet, o *option.Planning) {
	flags.StringVar(&o.Frame, "frame", o.Frame, "which order to use for a stream that has several: argocd, helm or none; the stamps of a SortOrder take precedence")
	flags.StringVar(&o.Hooks, "hooks", cmp.Or(o.Hooks, "run"), `what to do with hooks: "run" them as Helm does, or as Argo CD does where its annotations define the order; "skip" or "refuse" them`)
	flagSwitch(flags, &o.Prerequisites, "prerequisites", "apply CRDs and Namespaces before everything else, unless something else places them")
	flags.StringSliceVar(&o.PrerequisiteKinds, "prerequisite-kinds", o.PrerequisiteKinds, "further kinds to apply before everything else, such as StorageClass or Issuer.cert-manager.io")
	flags.StringSliceVar(&o.Charts, "chart", o.Charts, "folder of the Helm chart that the stream was rendered from, or its .tgz; preserves the order of its subcharts")
}

// Ordering defines --ordering.
func Ordering(flags *pflag.FlagSet, o *option.Planning, help string) {
	flagSwitch(flags, &o.Ordering, "ordering", help)
}

func flagSwitch(flags *pflag.FlagSet, s *option.Switch, name, help string) {
	flags.VarPF(s, name, "", help).NoOptDefVal = "true"
}

// Health defines the flags that configure the assessment of health.
func Health(flags *pflag.FlagSet, o *option.Health) {
	flags.StringVar(&o.Rules, "health-rules", o.Rules, "file with HealthRules, which say in CEL when objects of a kind are ready")
	flags.StringVar(&o.ArgoCD, "argocd-cm", o.ArgoCD, "file with Argo CD's argocd-cm ConfigMap, for its health checks in Lua")
	flags.StringVar(&o.ArgoCDFolder, "argocd-health", o.ArgoCDFolder, "checkout of Argo CD's folder resource_customizations, for the health checks that come with Argo CD")
	flags.BoolVar(&o.Strict, "strict-readiness", o.Strict, "report unknown instead of assuming that a resource is ready")
}

// Membership defines the flags of an apply set that affect a preview.
func Membership(flags *pflag.FlagSet, o *option.Membership) {
	flags.StringVar(&o.Set, "applyset", o.Set, "apply set (KEP-3659) that the resources become members of: NAME of its parent Secret, in the namespace of -n, or KIND/NAME")
	flags.StringVar(&o.Adopt, "adopt", o.Adopt, `which existing objects may become members: "never": none; "unowned": those in no set; "any": also members of other sets`)
	flags.BoolVar(&o.TakeOver, "take-over", o.TakeOver, "take over a set that another tool managed, with all fields that the tool owns on its members; with --prune also what a Helm release, kapp app or other inventory of the adopted objects contains beside the stream; implies --adopt=any")
	flags.BoolVar(&o.Prune, "prune", o.Prune, "when the whole stream is ready, delete members of the apply set that it no longer contains, in reverse order")
	flags.BoolVar(&o.CreateNamespace, "create-namespace", o.CreateNamespace, "create the namespace of -n before anything else if it does not exist; it does not become a member of the apply set, and is never pruned")
	PruneNamespaces(flags, o)
}

// PruneNamespaces defines --prune-namespaces.
func PruneNamespaces(flags *pflag.FlagSet, o *option.Membership) {
	flags.BoolVar(&o.PruneNamespaces, "prune-namespaces", o.PruneNamespaces, "prune Namespaces even if they contain objects outside the apply set")
}

// History defines --history-limit, --history-secrets and --message.
func History(flags *pflag.FlagSet, o *option.History) {
	flags.IntVar(&o.Limit, "history-limit", o.Limit, "number of revisions of an apply set to keep; the last deployed one is always kept")
	flags.StringVar(&o.Secrets, "history-secrets", o.Secrets, `where revisions keep the values of Secrets: "namespace": each in its own namespace; "none": nowhere, so that a rollback leaves Secrets as they are`)
	flags.StringVarP(&o.Message, "message", "m", o.Message, "reason for the run, which the history of an apply set shows; the first 1000 bytes are stored")
}

// LockTimeout defines --lock-timeout.
func LockTimeout(flags *pflag.FlagSet, d *time.Duration) {
	flags.DurationVar(d, "lock-timeout", *d, "how long to wait for another run on the same apply set; 0: do not wait")
}

// Force defines --force-conflicts: as in kubectl without a value, and with the names of field
// managers only theirs.
func Force(flags *pflag.FlagSet, force *option.Force, help string) {
	flags.VarPF(force, "force-conflicts", "", help).NoOptDefVal = "true"
}

// View defines the flags of a run's output other than its results.
func View(flags *pflag.FlagSet, o *option.View) {
	flags.BoolVar(&o.NoLive, "no-live", o.NoLive, "on a terminal, print a line per transition instead of the live view")
	flags.BoolVarP(&o.Quiet, "quiet", "q", o.Quiet, "print only warnings, errors and the summary, and the output of -o name or -o json")
	flags.StringVar(&o.MetricsFile, "metrics-file", o.MetricsFile, "file for the metrics of the run, in Prometheus text format; also written when the run fails")
	flags.StringToStringVar(&o.MetricsLabels, "metrics-label", o.MetricsLabels, "NAME=VALUE: label of every series in --metrics-file, in addition to context and applyset; may be repeated. An empty value omits the label")
	flags.StringVar(&o.Report, "report", o.Report, "file for an HTML page of the run: its timeline, critical path, changes and failures; also written when the run fails")
}

// Cluster defines kubectl's flags for a command that supports apply sets, which change the
// meaning of -n.
func Cluster(flags *pflag.FlagSet, cluster *genericclioptions.ConfigFlags) {
	cluster.AddFlags(flags)
	flags.Lookup("namespace").Usage = "namespace of resources without one. Without --applyset, a resource in another namespace is refused; with it, this is the namespace of the parent, and resources may be in any namespace"
}

// Limits defines --timeout and --wave-timeout.
func Limits(flags *pflag.FlagSet, o *option.Limits, wave string) {
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&o.WaveTimeout, "wave-timeout", o.WaveTimeout, wave)
}
