package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// index finds the resources of a stream by what other manifests write of
// them. Resources are named by their place in the sorted stream.
type index struct {
	resources  []Resource
	byID       map[object.ID]int
	makers     map[groupKind][]maker
	crds       map[groupKind]int
	servers    map[groupVersion][]int               // APIServices
	bindings   map[object.ID][]int                  // by the ServiceAccount they name
	fillers    map[string][]filler                  // of Secrets and ConfigMaps, by kind and name
	groups     map[string][]int                     // bindings, by the group of users they name
	volumes    map[object.ID][]int                  // PersistentVolumes, by the claim they are kept for
	volumeSets map[object.ID][]int                  // the same, by the claims' name without their number
	pools      map[string][]int                     // PersistentVolumes that are kept for none, by class
	defaults   []int                                // StorageClasses for claims that name none
	workloads  map[string]map[string][]int          // by namespace, then by "key=value" of their Pods; "" lists all
	selecting  map[string]map[string][]podSelecting // what selects Pods, by namespace, then by a "key=value" that it asks for; "" lists what asks for none
	aggregated []int                                // ClusterRoles that others may aggregate
	former     map[object.ID][]int                  // by an ID that they had before
	webhooks   []webhook
	definers   map[string][]int // CustomResourceDefinitions, by the group of their kind
	podHooks   []webhook        // those that intercept new Pods
	condition  Condition
}

type groupKind struct{ group, kind string }

type groupVersion struct{ group, version string }

// maker is a resource that brings a kind into the cluster.
type maker struct {
	at   int
	rule string
}

func newIndex(resources []Resource, condition Condition) *index {
	ix := &index{
		resources: resources, condition: condition,
		byID: make(map[object.ID]int, len(resources)), former: map[object.ID][]int{},
		makers: map[groupKind][]maker{}, crds: map[groupKind]int{}, definers: map[string][]int{}, servers: map[groupVersion][]int{},
		bindings: map[object.ID][]int{}, fillers: map[string][]filler{}, groups: map[string][]int{},
		volumes: map[object.ID][]int{}, volumeSets: map[object.ID][]int{}, pools: map[string][]int{},
		workloads: map[string]map[string][]int{}, selecting: map[string]map[string][]podSelecting{},
	}
	for i, r := range resources {
		ix.byID[r.ID] = i
		if r.Formerly != "" {
			before := r.ID
			before.Name = r.Formerly
			ix.former[before] = append(ix.former[before], i)
		}
		ix.addMakers(i, r)
		ix.addWorkload(i, r)
		ix.addWebhooks(i, r)
		ix.addBinding(i, r)
		ix.addFiller(i, r)
		ix.addVolume(i, r)
		ix.addPodSelecting(i, r)
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

func newReferences(ix *index) *references {
	return &references{index: ix, begins: slices.Repeat([]int{-1}, len(ix.resources))}
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
	refs := newReferences(ix)
	refs.edges = make([]edge, 0, 3*len(ix.resources)) // most streams have fewer
	refs.readAll()
	return refs.edges
}

// missingReferences are those that make no edge.
func (ix *index) missingReferences() []missing {
	refs := newReferences(ix)
	refs.want = true
	refs.readAll()
	return refs.missing
}

func (refs *references) readAll() {
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
		refs.selectedBy(r)
		refs.aggregates(r)
		refs.device(r)
		refs.converted(r)
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
	case len(refs.former[id]) > 0:
		for _, from := range refs.meant(id) {
			refs.edge(from, Applied, s, rule, where)
		}
	case refs.want:
		refs.missing = append(refs.missing, missing{refs.at, id, s, refs.reason(rule, where, id)})
	}
}

// meant are the resources that had an ID and are meant by it: those that were renamed
// together with what names it, or else all.
func (refs *references) meant(id object.ID) []int {
	all := refs.former[id]
	family := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return refs.resources[i].Family != refs.resources[refs.at].Family })
	if len(family) > 0 {
		return family
	}
	return all
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
