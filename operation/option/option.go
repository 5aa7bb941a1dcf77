// Package option has the groups of options of which the operations of package operation
// consist. They are data: flags fill them, a fleet copies them for each of its clusters, and a
// plan file stores them as JSON.
//
//	op := operation.NewApply()
//	op.Files, op.Set, op.Prune = []string{"app.yaml"}, "shop", true
//
// A field that no plan file may set, because it lets a program run, has no JSON.
package option

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/applyset"
)

// Manifests select the manifests of a stream.
type Manifests struct {
	// Files are files, folders, patterns and URLs with manifests; "-" is standard input. Default:
	// standard input, if it is piped.
	Files []string `json:"files,omitempty"`
	// Recursive reads the subfolders of folders, too.
	Recursive bool `json:"recursive,omitempty"`
	// Kustomize is the folder of a kustomization to build, instead of Files. Only the program
	// ordapply runs a SortOrder of it without Plugins and Exec.
	Kustomize string `json:"-"`
	// Plugins lets the kustomization run functions, and Exec lets these be programs of this
	// machine (kustomize's --enable-alpha-plugins and --enable-exec).
	Plugins bool `json:"-"`
	Exec    bool `json:"-"`
	// Selector is a label selector; other resources are left out.
	Selector string `json:"selector,omitempty"`
	// Order is a file with a SortOrder, stacks or both, which stamps the stream.
	Order string `json:"order,omitempty"`
	// RequireOrder refuses a stream without an order.
	RequireOrder bool `json:"requireOrder,omitempty"`
}

// Planning selects the sources of the order.
type Planning struct {
	// Frame selects one order of a stream that has several: argocd, helm or none; "": by rule.
	Frame string `json:"frame,omitempty"`
	// Hooks is run, skip or refuse.
	Hooks string `json:"hooks,omitempty"`
	// Prerequisites applies CRDs and Namespaces before everything else.
	Prerequisites Switch `json:"prerequisites,omitzero"`
	// PrerequisiteKinds are further kinds that are applied first: StorageClass, or
	// Issuer.cert-manager.io.
	PrerequisiteKinds []string `json:"prerequisiteKinds,omitempty"`
	// Charts are folders or .tgz files of the Helm charts of which the stream was rendered.
	Charts []string `json:"charts,omitempty"`
	// Ordering applies in waves; off, everything at once.
	Ordering Switch `json:"ordering,omitzero"`
}

// Switch is an option that annotations of a stream may change, unless it was given for this
// run. The zero value is on.
type Switch struct {
	Off   bool `json:"off,omitempty"`
	Given bool `json:"given,omitempty"`
}

// String returns "true" or "false". It is the text of a flag.
func (s *Switch) String() string { return strconv.FormatBool(!s.Off) }

// Set parses the text of a flag.
func (s *Switch) Set(text string) error {
	on, err := strconv.ParseBool(text)
	s.Off = !on
	return err
}

// Type names the value in the help of a command.
func (*Switch) Type() string { return "bool" }

// Health configures the assessment of health.
type Health struct {
	// Rules is a file with HealthRules.
	Rules string
	// ArgoCD is a file with Argo CD's ConfigMap argocd-cm, ArgoCDFolder a checkout of its folder
	// resource_customizations.
	ArgoCD, ArgoCDFolder string
	// Strict reports unknown instead of assuming that a resource is ready.
	Strict bool
}

// Membership selects the apply set (KEP-3659) of a stream, and the objects that become its
// members.
type Membership struct {
	// Set is the NAME of the parent Secret, or KIND/NAME; "" for none.
	Set string `json:"set,omitempty"`
	// Adopt selects the existing objects that may become members: never, unowned or any.
	Adopt string `json:"adopt,omitempty"`
	// TakeOver takes over a set that another tool managed, with all its fields.
	TakeOver bool `json:"takeOver,omitempty"`
	// Prune deletes members that the stream no longer contains, when all of it is ready.
	Prune bool `json:"prune,omitempty"`
	// PruneNamespaces prunes Namespaces even if they contain objects outside the set.
	PruneNamespaces bool `json:"pruneNamespaces,omitempty"`
	// CreateNamespace creates the namespace of the run before anything else.
	CreateNamespace bool `json:"createNamespace,omitempty"`
}

// History configures the revision that a run stores.
type History struct {
	// Limit is the number of revisions to keep.
	Limit int
	// Secrets selects where revisions keep the values of Secrets: namespace or none.
	Secrets string
	// Message is the reason for the run.
	Message string
}

// View configures the output of a run other than its results.
type View struct {
	// NoLive prints lines on a terminal, too. Quiet prints only warnings, errors and the summary.
	NoLive, Quiet bool
	// NoProgress prints results and the summary only, for a caller that reports progress.
	NoProgress bool
	// MetricsFile is a file for the metrics of the run, with labels for each series.
	MetricsFile   string
	MetricsLabels map[string]string
	// Report is a file for the HTML page of the run.
	Report string
}

// Limits bound the duration of a run, and of each of its waves; 0: no limit.
type Limits struct {
	Timeout, WaveTimeout time.Duration
}

// Force selects the field managers whose fields are taken over. As the text of a flag it is
// true, false, or names.
type Force applyset.Force

// Set parses a value; spaces around names are removed.
func (f *Force) Set(text string) error {
	*f = Force{}
	if all, err := strconv.ParseBool(text); err == nil {
		f.All = all
		return nil
	}
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(f.Managers, name) {
			f.Managers = append(f.Managers, name)
		}
	}
	slices.Sort(f.Managers)
	return nil
}

// String returns the text of the flag.
func (f *Force) String() string {
	if len(f.Managers) > 0 {
		return strings.Join(f.Managers, ",")
	}
	return strconv.FormatBool(f.All)
}

// Type names the value in the help of a command.
func (*Force) Type() string { return "managers" }

// MarshalText and UnmarshalText make the JSON of a Force its text.
func (f Force) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (f *Force) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("it is empty: write true, false or names of field managers")
	}
	return f.Set(string(text))
}
