package argocd

import (
	"maps"
	"strconv"

	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plan/stamp"
)

// finalizer deletes an Application's synced objects when it is deleted, in reverse order.
const finalizer = "resources-finalizer.argocd.argoproj.io"

// Argo CD compares as the API server applies: otherwise fields that defaults and
// controllers add would keep an Application out of sync for ever.
const (
	compareOptions = "argocd.argoproj.io/compare-options"
	serverSideDiff = "ServerSideDiff=true"
)

// layerLabel names the layer of an Application.
const layerLabel = "ordapply-layer"

// written begins the comment of a file.
const written = "Written by `ordapply export --to argocd`: "

// addObjects adds the objects of Argo CD that the form needs.
func (e *exporter) addObjects() error {
	switch e.options.Form {
	case OneApplication:
		spec := e.wholeSpec()
		return e.tree.AddObjects("argocd/application.yaml", written+"the sync waves of the manifests are the order.", e.application(e.options.Name, nil, spec))
	case ApplicationSet:
		if e.options.Fleet != nil {
			return e.tree.AddObjects("argocd/applicationset.yaml", written+"the steps of the rolling sync are the cohorts. They need --enable-progressive-syncs.", e.fleetSet())
		}
		return e.tree.AddObjects("argocd/applicationset.yaml", written+"the steps of the rolling sync are the order. They need --enable-progressive-syncs.", e.applicationSet())
	}
	root := e.application(e.options.Name, nil, e.spec("argocd/applications", nil))
	if err := e.tree.AddObjects("argocd/root.yaml", written+"the Application of the layers' Applications. Merge argocd-cm.yaml first: without its health check Argo CD waits for no layer.", root); err != nil {
		return err
	}
	for u, unit := range e.units {
		if len(unit.Steps) == 0 {
			continue
		}
		wave := object{stamp.SyncWave: strconv.Itoa(e.rounds[u])}
		app := e.application(e.options.Name+"-"+unit.Name, wave, e.spec("layers/"+unit.Name, unit.Steps))
		if err := e.tree.AddObjects("argocd/applications/"+unit.Name+".yaml", written+"one layer; its sync wave is the order.", app); err != nil {
			return err
		}
	}
	return nil
}

// application returns an Application.
func (e *exporter) application(name string, annotations, spec object) object {
	all := object{compareOptions: serverSideDiff}
	maps.Copy(all, annotations)
	metadata := object{"name": name, "namespace": e.options.Namespace, "finalizers": []string{finalizer}, "annotations": all}
	spec["syncPolicy"].(object)["automated"] = object{"prune": true, "selfHeal": true}
	return object{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}
}

// spec returns the spec of an Application for a folder of the tree. Server-side apply has
// no limit that large CRDs exceed.
func (e *exporter) spec(folder string, steps []int) object {
	spec := object{
		"project":     e.options.Project,
		"source":      object{"repoURL": e.options.RepoURL, "targetRevision": e.options.Revision, "path": e.pathOf(folder)},
		"destination": object{"server": e.options.Server},
	}
	options := []string{"ServerSideApply=true"}
	if ignored := e.ignored(steps); len(ignored) > 0 {
		spec["ignoreDifferences"] = ignored
		options = append(options, "RespectIgnoreDifferences=true")
	}
	spec["syncPolicy"] = object{"syncOptions": options, "retry": object{"limit": 5}}
	return spec
}

// wholeSpec returns the spec of an Application of the whole stream.
func (e *exporter) wholeSpec() object {
	spec := e.spec("layers", e.allSteps())
	spec["source"].(object)["directory"] = object{"recurse": true}
	return spec
}

// allSteps returns all steps of the plan.
func (e *exporter) allSteps() []int {
	all := make([]int, len(e.Plan.Steps))
	for i := range all {
		all[i] = i
	}
	return all
}

// ignored returns the fields that manifests leave to others.
func (e *exporter) ignored(steps []int) []object {
	var out []object
	for _, i := range steps {
		obj := e.Object(i)
		paths := fields.Of(obj.Object)
		if len(paths) == 0 {
			continue
		}
		expressions := make([]string, len(paths))
		for j, p := range paths {
			expressions[j] = p.JQ()
		}
		entry := object{"kind": obj.GetKind(), "name": obj.GetName(), "jqPathExpressions": expressions}
		if group := obj.GroupVersionKind().Group; group != "" {
			entry["group"] = group
		}
		if obj.GetNamespace() != "" {
			entry["namespace"] = obj.GetNamespace()
		}
		out = append(out, entry)
	}
	return out
}

// applicationSet returns an ApplicationSet that makes an Application for each layer, and
// syncs each round after the one before is healthy.
func (e *exporter) applicationSet() object {
	var elements []object
	var steps []object
	byRound := map[int][]string{}
	last := 0
	for u, unit := range e.units {
		if len(unit.Steps) == 0 {
			continue
		}
		elements = append(elements, object{"layer": unit.Name})
		byRound[e.rounds[u]] = append(byRound[e.rounds[u]], unit.Name)
		last = max(last, e.rounds[u])
	}
	for round := range last + 1 {
		if layers := byRound[round]; len(layers) > 0 {
			steps = append(steps, object{"matchExpressions": []object{{"key": layerLabel, "operator": "In", "values": layers}}})
		}
	}
	spec := e.spec("layers/{{.layer}}", e.allSteps())
	return e.rollingSet(elements, steps, e.template("{{.layer}}", object{layerLabel: "{{.layer}}"}, spec))
}

// fleetSet returns an ApplicationSet that makes an Application of the whole stream for each
// cluster, and syncs each cohort after the one before is healthy.
func (e *exporter) fleetSet() object {
	elements, steps := rollout(e.options.Fleet)
	spec := e.wholeSpec()
	spec["destination"] = object{"name": "{{.cluster}}"}
	return e.rollingSet(elements, steps, e.template("{{.cluster}}", object{cohortLabel: "{{.cohort}}", clusterLabel: "{{.cluster}}"}, spec))
}

// template returns the template of the Applications of a rolling sync, whose names end with
// a field of their element.
func (e *exporter) template(suffix string, labels, spec object) object {
	// The rolling sync takes this off the Applications, and prunes only if it was there; an
	// unpruned one is never synced, and holds up later ones.
	spec["syncPolicy"].(object)["automated"] = object{"prune": true}
	return object{
		"metadata": object{"name": e.options.Name + "-" + suffix, "labels": labels, "annotations": object{compareOptions: serverSideDiff}, "finalizers": []string{finalizer}},
		"spec":     spec,
	}
}

// rollingSet returns an ApplicationSet that makes an Application of each element, and syncs
// them step by step.
func (e *exporter) rollingSet(elements, steps []object, template object) object {
	return object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		// Without its finalizer it is gone at once, with all its Applications, despite
		// deletionOrder.
		"metadata": object{"name": e.options.Name, "namespace": e.options.Namespace, "finalizers": []string{finalizer}},
		"spec": object{
			"goTemplate": true, "goTemplateOptions": []string{"missingkey=error"},
			"generators": []object{{"list": object{"elements": elements}}},
			"strategy":   object{"type": "RollingSync", "deletionOrder": "Reverse", "rollingSync": object{"steps": steps}},
			"template":   template,
		},
	}
}
