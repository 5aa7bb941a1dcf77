// Package flux exports a stream as a tree that Flux reconciles in the stream's order: a
// Kustomization (https://fluxcd.io/flux/components/kustomize/kustomizations/) for each
// layer, which depends on the ones before it and waits until its own layer is ready.
//
//	tree, err := flux.Export(stream, flux.Options{Name: "shop", Source: flux.Source{URL: "oci://registry/shop"}})
//	tree.Files["flux/kustomizations.yaml"]
package flux

import (
	"path"
	"slices"
	"time"

	exportunits "github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/plain"
)

// Options describe the objects of Flux.
type Options struct {
	Name      string // of the source, and prefix of the Kustomizations' names
	Namespace string // where Flux's objects live
	Source    Source
	Path      string        // of the tree within the source; "" for its root
	Interval  time.Duration // how often Flux reconciles unchanged objects
	Retry     time.Duration // how soon after a failure
	Timeout   time.Duration // for layers without one of their own
}

// minTimeout is Flux's minimum: it raises shorter timeouts silently.
const minTimeout = 30 * time.Second

// Files of the tree besides the manifests, which are below layers/.
const (
	sourceFile         = "flux/source.yaml"
	kustomizationsFile = "flux/kustomizations.yaml"
)

// written begins the comment of a file.
const written = "Written by `ordapply export --to flux`: "

// object is an object of Flux, in the order of keys of sigs.k8s.io/yaml: the alphabet.
type object = map[string]any

// Export returns the tree of a stream.
func Export(s *exportunits.Stream, o Options) (*exportunits.Tree, error) {
	cut := exportunits.Units(s.Plan, s.IsInstant)
	units := cut.Units
	e := &exporter{Stream: s, options: o, units: units, tree: &exportunits.Tree{}}
	e.tree.AddLost(s, cut.Lost)
	source, err := o.Source.object(o)
	if err != nil {
		return nil, err
	}
	if err := e.tree.AddObjects(sourceFile, written+"the source. Apply it first, and wait until it is ready.", source); err != nil {
		return nil, err
	}
	var kustomizations []object
	for u := range units {
		kustomizations = append(kustomizations, e.kustomization(u))
		if err := e.tree.AddLayer(s, units[u], e.annotations); err != nil {
			return nil, err
		}
	}
	if err := e.tree.AddObjects(kustomizationsFile, written+"a Kustomization for each layer; dependsOn is the order.", kustomizations...); err != nil {
		return nil, err
	}
	e.remark()
	return e.tree, nil
}

// exporter exports one stream.
type exporter struct {
	*exportunits.Stream
	options Options
	units   []exportunits.Unit
	tree    *exportunits.Tree
	assumed []string // kinds for which nothing defines when they are ready
}

// nameOf returns the name of a unit's Kustomization.
func (e *exporter) nameOf(u int) string { return e.options.Name + "-" + e.units[u].Name }

// kustomization returns the Kustomization of a unit.
func (e *exporter) kustomization(u int) object {
	unit := &e.units[u]
	timeout := unit.Timeout
	if timeout == 0 {
		timeout = e.options.Timeout
	}
	if timeout < minTimeout {
		e.tree.Remarks = append(e.tree.Remarks, plain.Sprintf("%s: its timeout of %s becomes 30s, the least that Flux waits", unit.Name, timeout))
		timeout = minTimeout
	}
	spec := object{
		"interval": e.options.Interval.String(), "retryInterval": e.options.Retry.String(), "timeout": timeout.String(),
		"path":      "./" + path.Join(e.options.Path, "layers", unit.Name),
		"prune":     true,
		"sourceRef": object{"kind": e.options.Source.Kind, "name": e.options.Name},
	}
	if len(unit.After) > 0 {
		var dependsOn []object
		for _, before := range unit.After {
			dependsOn = append(dependsOn, object{"name": e.nameOf(before)})
		}
		spec["dependsOn"] = dependsOn
	}
	if checks := e.checks(u); unit.WaitsForAll() || len(checks) == 0 && len(unit.Checks) > 0 {
		spec["wait"] = true
	} else if len(checks) > 0 {
		spec["healthChecks"] = checks
	}
	if expressions := e.expressions(u); len(expressions) > 0 {
		spec["healthCheckExprs"] = expressions
	}
	return object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": object{"name": e.nameOf(u), "namespace": e.options.Namespace},
		"spec":     spec,
	}
}

// checks lists the resources that a unit waits for and that are not ready as soon as they
// exist.
func (e *exporter) checks(u int) []object {
	var out []object
	for _, step := range e.units[u].Checks {
		if e.IsInstant(step) && slices.Contains(e.units[u].Steps, step) {
			continue
		}
		obj := e.Object(step)
		check := object{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "name": obj.GetName()}
		if obj.GetNamespace() != "" {
			check["namespace"] = obj.GetNamespace()
		}
		out = append(out, check)
	}
	return out
}
