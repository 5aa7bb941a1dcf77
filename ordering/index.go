package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// index finds the resources of a stream by what other manifests write of
// them. Resources are named by their place in the sorted stream.
type index struct {
	resources    []Resource
	byID         map[object.ID]int
	makers       map[groupKind][]maker
	crds         map[groupKind]int
	servers      map[groupVersion][]int      // APIServices
	bindings     map[object.ID][]int         // by the ServiceAccount they name
	certificates map[object.ID][]int         // by the Secret they fill
	defaults     []int                       // StorageClasses for claims that name none
	workloads    map[string]map[string][]int // by namespace, then by "key=value" of their Pods; "" lists all
	webhooks     []webhook
}

type groupKind struct{ group, kind string }

type groupVersion struct{ group, version string }

// maker is a resource that brings a kind into the cluster.
type maker struct {
	at   int
	rule string
}

func newIndex(resources []Resource) *index {
	ix := &index{
		resources: resources,
		byID:      make(map[object.ID]int, len(resources)),
		makers:    map[groupKind][]maker{}, crds: map[groupKind]int{}, servers: map[groupVersion][]int{},
		bindings: map[object.ID][]int{}, certificates: map[object.ID][]int{},
		workloads: map[string]map[string][]int{},
	}
	for i, r := range resources {
		ix.byID[r.ID] = i
		ix.addMakers(i, r)
		ix.addWorkload(i, r)
		ix.addWebhooks(i, r)
		for _, account := range boundAccounts(r) {
			ix.bindings[account] = append(ix.bindings[account], i)
		}
		if secret, ok := certifiedSecret(r); ok {
			ix.certificates[secret] = append(ix.certificates[secret], i)
		}
		if isDefaultClass(r) {
			ix.defaults = append(ix.defaults, i)
		}
	}
	return ix
}

// references gathers what the resources of a stream need of each other, as
// their manifests say.
type references struct {
	*index
	at      int // the resource that is read
	edges   []edge
	first   int       // where its edges begin
	begins  []int     // by resource: where the edges from it to the one that is read begin; below first when there are none
	missing []missing // nil unless wanted
	want    bool
}

// missing is a reference to what the stream does not hold.
type missing struct {
	at       int
	id       object.ID
	strength strength
	why      Reason
}

// softEdges infers who needs whom. References to what the stream does not hold
// make no edge.
func (ix *index) softEdges() []edge {
	refs := &references{index: ix, edges: make([]edge, 0, 3*len(ix.resources))} // most streams have fewer
	refs.readAll()
	return refs.edges
}

// missingReferences are those that make no edge.
func (ix *index) missingReferences() []missing {
	refs := &references{index: ix, want: true}
	refs.readAll()
	return refs.missing
}

func (refs *references) readAll() {
	refs.begins = slices.Repeat([]int{-1}, len(refs.resources))
	for i, r := range refs.resources {
		refs.at, refs.first = i, len(refs.edges)
		refs.namespace(r)
		refs.kind(r)
		refs.binding(r)
		refs.pod(r)
		refs.claim(r)
		refs.ingress(r)
		refs.autoscaler(r)
		refs.disruptionBudget(r)
		refs.service(r)
		refs.intercepted(r)
	}
}

// namespace: nothing can be created in a Namespace that is not there.
func (refs *references) namespace(r Resource) {
	if r.Namespace != "" {
		refs.need(object.ID{Kind: "Namespace", Name: r.Namespace}, exists, "namespace", "lives in")
	}
}

// need records that the resource needs another one to be applied. where is what
// in its manifest says so.
func (refs *references) need(id object.ID, s strength, rule, where string) {
	from, ok := refs.byID[id]
	switch {
	case ok:
		refs.edge(from, Applied, s, rule, where)
	case refs.want:
		refs.missing = append(refs.missing, missing{refs.at, id, s, refs.reason(rule, where, id)})
	}
}

// edge is need for a resource that was found.
func (refs *references) edge(from int, gate Gate, s strength, rule, where string) {
	if from == refs.at {
		return
	}
	if refs.begins[from] < refs.first {
		refs.begins[from] = len(refs.edges)
	}
	for i := refs.begins[from]; i < len(refs.edges); i++ {
		e := &refs.edges[i]
		if int(e.from) == from && e.gate == gate && e.why.Rule == rule {
			e.strength = max(e.strength, s)
			return
		}
	}
	refs.edges = append(refs.edges, resourceEdge(from, refs.at, gate, s, refs.reason(rule, where, refs.resources[from].ID)))
}

func (refs *references) reason(rule, where string, id object.ID) Reason {
	r := &refs.resources[refs.at]
	if id.Namespace == r.Namespace {
		id.Namespace = ""
	}
	return Reason{Rule: rule, Detail: where + " " + id.String(), Where: r.Source}
}

func isCRD(id object.ID) bool {
	return id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition"
}

func isNamespace(id object.ID) bool { return id.Group == "" && id.Kind == "Namespace" }
