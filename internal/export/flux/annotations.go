package flux

import (
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plain"
)

// Annotations of a resource that kustomize-controller reads.
const (
	pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune" // disabled: never deletes it
	forceAnnotation = "kustomize.toolkit.fluxcd.io/force" // enabled: recreates it if an immutable field changes
)

// annotations returns Flux's equivalents of ordapply's own annotations. A Namespace is
// kept, as ordapply keeps it: Flux would delete it with all that is in it.
func (e *exporter) annotations(step int) map[string]string {
	out := map[string]string{}
	obj := e.Object(step)
	own := obj.GetAnnotations()
	if applyset.Protection(obj, "") != "" || e.Plan.Steps[step].ID.IsNamespace() {
		out[pruneAnnotation] = "disabled"
	}
	if own["ordapply.dev/on-immutable"] == "recreate" {
		out[forceAnnotation] = "enabled"
	}
	for key := range out {
		if own[key] != "" {
			delete(out, key) // the author's own
		}
	}
	return out
}

// remark lists how Flux differs from ordapply.
func (e *exporter) remark() {
	var lost []units.Lost
	for i := range e.Plan.Steps {
		if e.Object(i).GetAnnotations()[fields.Annotation] != "" {
			lost = append(lost, units.Lost{Step: i, Detail: "leaves no field to others, which " + fields.Annotation + " asks for: Flux takes every field of a manifest"})
		}
	}
	e.tree.AddLost(e.Stream, lost)
	for _, hook := range e.Plan.Hooks {
		e.tree.Lost = append(e.tree.Lost, plain.Sprintf("%s is a hook (%s), and Flux's Kustomizations run none", hook.ID, hook.Event))
	}
	for _, kind := range e.assumed {
		e.tree.Remarks = append(e.tree.Remarks, units.AssumedRemark(kind))
	}
	e.tree.Remarks = append(e.tree.Remarks, "Flux deletes without an order: dependsOn counts for applying only")
	e.tree.RemarkSecrets(e.Stream)
}
