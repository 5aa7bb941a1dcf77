package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// index finds the resources of a stream by the ways in which manifests refer to
// them. A resource is identified by its position in the sorted stream.
type index struct {
	resources         []Resource
	byID              map[object.ID]int
	providers         map[groupKind][]provider
	crds              map[groupKind]int
	apiServices       map[groupVersion][]int               // APIServices
	bindings          map[object.ID][]int                  // RoleBindings and ClusterRoleBindings, by ServiceAccount
	fillers           map[string][]filler                  // of Secrets and ConfigMaps, by kind and name
	groups            map[string][]int                     // the same, by user group
	volumes           map[object.ID][]int                  // PersistentVolumes with a claimRef, by claim
	volumeSets        map[object.ID][]int                  // the same, by the claim's name without its ordinal
	pools             map[string][]int                     // PersistentVolumes without a claimRef, by class
	defaultClasses    []int                                // default StorageClasses
	workloads         map[string]map[string][]int          // by namespace, then by "key=value" of a Pod label; "" lists all
	selecting         map[string]map[string][]podSelecting // resources that select Pods, by namespace, then by one "key=value" of the selector; "" lists those without one
	aggregatableRoles []int                                // ClusterRoles that others may aggregate
	byPreviousName    map[object.ID][]int                  // by a previous ID
	webhooks          []webhook
	crdsByGroup       map[string][]int // CustomResourceDefinitions, by the group of their kind
	podWebhooks       []webhook        // those that intercept the creation of Pods
	condition         Condition
}

type groupKind struct{ group, kind string }

type groupVersion struct{ group, version string }

// provider is a resource that makes a kind available in the cluster.
type provider struct {
	at   int
	rule string
}

func newIndex(resources []Resource, condition Condition) *index {
	ix := &index{
		resources: resources, condition: condition,
		byID: make(map[object.ID]int, len(resources)), byPreviousName: map[object.ID][]int{},
		providers: map[groupKind][]provider{}, crds: map[groupKind]int{}, crdsByGroup: map[string][]int{}, apiServices: map[groupVersion][]int{},
		bindings: map[object.ID][]int{}, fillers: map[string][]filler{}, groups: map[string][]int{},
		volumes: map[object.ID][]int{}, volumeSets: map[object.ID][]int{}, pools: map[string][]int{},
		workloads: map[string]map[string][]int{}, selecting: map[string]map[string][]podSelecting{},
	}
	for i, r := range resources {
		ix.byID[r.ID] = i
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
		ix.addVolume(i, r)
		ix.addPodSelecting(i, r)
		if isDefaultClass(r) {
			ix.defaultClasses = append(ix.defaultClasses, i)
		}
	}
	return ix
}

// references collects the dependencies that the manifests of a stream express.
type references struct {
	*index
	at             int // the resource being read
	edges          []edge
	first          int       // index of its first edge
	edgeStart      []int     // per resource: index of the first edge from it to the resource being read; less than first if none
	missing        []missing // nil unless collectMissing
	collectMissing bool
}

func newReferences(ix *index) *references {
	return &references{index: ix, edgeStart: slices.Repeat([]int{-1}, len(ix.resources))}
}

// missing is a reference to a resource that is not in the stream.
type missing struct {
	at       int
	id       object.ID
	strength strength
	why      Reason
}

// softEdges infers edges from references between manifests. References to
// resources that are not in the stream are ignored.
func (ix *index) softEdges() []edge {
	refs := newReferences(ix)
	refs.edges = make([]edge, 0, 3*len(ix.resources)) // most streams have fewer
	refs.readAll()
	return refs.edges
}

// missingReferences returns the references to resources that are not in the
// stream.
func (ix *index) missingReferences() []missing {
	refs := newReferences(ix)
	refs.collectMissing = true
	refs.readAll()
	return refs.missing
}

func (refs *references) readAll() {
	for i, r := range refs.resources {
		refs.at, refs.first = i, len(refs.edges)
		refs.namespace(r)
		refs.kind(r)
		refs.binding(r)
		refs.token(r)
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

// namespace adds the edge from a resource's Namespace.
func (refs *references) namespace(r Resource) {
	if r.Namespace != "" {
		refs.need(object.ID{Kind: "Namespace", Name: r.Namespace}, exists, "namespace", "lives in")
	}
}

// need adds an edge with gate Applied from the resource with the given ID.
// where describes the place in the manifest that names it.
func (refs *references) need(id object.ID, s strength, rule, where string) {
	from, ok := refs.byID[id]
	switch {
	case ok:
		refs.edge(from, Applied, s, rule, where)
	case len(refs.byPreviousName[id]) > 0:
		for _, from := range refs.byFormerName(id) {
			refs.edge(from, Applied, s, rule, where)
		}
	case refs.collectMissing:
		refs.missing = append(refs.missing, missing{refs.at, id, s, refs.reason(rule, where, id)})
	}
}

// byFormerName returns the resources whose previous ID was id: those renamed together
// with the referring resource if there are any, else all.
func (refs *references) byFormerName(id object.ID) []int {
	all := refs.byPreviousName[id]
	family := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return refs.resources[i].RenameGroup != refs.resources[refs.at].RenameGroup })
	if len(family) > 0 {
		return family
	}
	return all
}

// edge adds an edge from a resource of the stream. It merges edges with the
// same gate and rule.
func (refs *references) edge(from int, gate Gate, s strength, rule, where string) {
	if from == refs.at {
		return
	}
	if refs.edgeStart[from] < refs.first {
		refs.edgeStart[from] = len(refs.edges)
	}
	for i := refs.edgeStart[from]; i < len(refs.edges); i++ {
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
