package argocd

import (
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/fleet"
)

// The forms of an export.
const (
	OneApplication = "application"    // one Application, whose manifests have sync waves
	AppOfApps      = "app-of-apps"    // an Application for each layer, and one for these
	ApplicationSet = "applicationset" // an ApplicationSet with a rolling sync, layer by layer
)

// Forms lists the forms.
func Forms() []string { return []string{OneApplication, AppOfApps, ApplicationSet} }

// Options describe the objects of Argo CD.
type Options struct {
	Name      string // of the Application, and prefix of the layers' Applications
	Namespace string // where Argo CD's objects live
	Form      string
	RepoURL   string // https://host/name.git, ssh://…, oci://registry/name
	Revision  string // branch, tag or commit
	Path      string // of the tree within the repository; "" for its root
	Project   string
	Server    string // of the cluster that is deployed to; not read with a fleet
	// Fleet, with the form ApplicationSet, is the clusters that are deployed to: an
	// Application of the whole stream for each, cohort by cohort.
	Fleet *fleet.Fleet
}

// Export returns the tree of a stream.
func Export(s *units.Stream, o Options) (*units.Tree, error) {
	cut := units.Units(s.Plan, s.IsInstant)
	e := &exporter{Stream: s, options: o, units: cut.Units, tree: &units.Tree{}}
	e.tree.AddLost(s, cut.Lost)
	e.moveLate(cut.With)
	e.count()
	for _, unit := range e.units {
		if err := e.tree.AddLayer(s, unit, e.annotations); err != nil {
			return nil, err
		}
	}
	if err := e.addHooks(); err != nil {
		return nil, err
	}
	if err := e.addObjects(); err != nil {
		return nil, err
	}
	if err := e.addHealth(); err != nil {
		return nil, err
	}
	e.remark()
	e.remarkFleet()
	return e.tree, nil
}
