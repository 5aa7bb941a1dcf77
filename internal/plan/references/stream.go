package references

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// NewIndex returns the index of a stream. condition evaluates the matchConditions of
// webhooks; if it is nil, all hold.
func NewIndex(resources []ordering.Resource, condition ordering.Condition) *Index {
	ix := &Index{
		Resources: resources, condition: condition,
		ByID: make(map[object.ID]int, len(resources)), byPreviousName: map[object.ID][]int{},
		kindIndex:    kindIndex{map[GroupKind][]provider{}, map[GroupKind]int{}, map[string][]int{}, map[groupVersion][]int{}},
		bindingIndex: bindingIndex{bindings: map[object.ID][]int{}, groups: map[string][]int{}},
		volumeIndex:  volumeIndex{volumes: map[object.ID][]int{}, volumeSets: map[object.ID][]int{}, pools: map[string][]int{}},
		podIndex:     podIndex{make([]podTemplate, len(resources)), map[podLabel][]int{}, map[podLabel][]podSelecting{}},
		fillerKinds:  fillersByKind(), fillers: map[string][]filler{}, fillersOfCA: map[int]Filler{}, jobs: map[jobWord][]int{},
	}
	for i, r := range resources {
		ix.ByID[r.ID] = i
		ix.templates[i] = podTemplateOf(r.Object)
		if r.PreviousName != "" {
			before := r.ID
			before.Name = r.PreviousName
			ix.byPreviousName[before] = append(ix.byPreviousName[before], i)
		}
		ix.addProviders(i, r)
		ix.addWorkload(i, r)
		ix.addWebhooks(i, r)
		ix.addBinding(i, r)
		ix.addFiller(i, r)
		ix.addJob(i, r)
		ix.addVolume(i, r)
		ix.addPodSelecting(i, r)
		if isDefaultClass(r) {
			ix.defaultClasses = append(ix.defaultClasses, i)
		}
	}
	return ix
}

// SoftEdges infers edges from references between manifests. References to
// resources that are not in the stream are ignored.
func (ix *Index) SoftEdges() []graph.Edge {
	refs := newReferences(ix)
	refs.edges = make([]graph.Edge, 0, 3*len(ix.Resources)) // most streams have fewer
	refs.readAll()
	return refs.edges
}

// MissingReferences returns the references to resources that are not in the
// stream.
func (ix *Index) MissingReferences() []Missing {
	refs := newReferences(ix)
	refs.collectMissing = true
	refs.readAll()
	return refs.missing
}

func (refs *references) readAll() {
	for i, r := range refs.Resources {
		refs.at, refs.first = i, len(refs.edges)
		refs.namespace(r)
		refs.kind(r)
		refs.binding(r)
		refs.token(r)
		refs.pod(r)
		refs.written(r)
		refs.claim(r)
		refs.ingress(r)
		refs.autoscaler(r)
		refs.disruptionBudget(r)
		refs.service(r)
		refs.intercepted(r)
		refs.selectedBy(r)
		refs.aggregates(r)
		refs.device(r)
		refs.converted(r)
	}
}
