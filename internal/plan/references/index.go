package references

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Index finds the resources of a stream by the ways in which manifests refer to
// them. A resource is identified by its position in the sorted stream.
type Index struct {
	Resources      []ordering.Resource
	ByID           map[object.ID]int
	byPreviousName map[object.ID][]int // by a previous ID
	kindIndex
	bindingIndex
	volumeIndex
	podIndex
	fillerKinds map[string]fillerKind
	fillers     map[string][]filler // of Secrets and ConfigMaps, by kind and name
	jobs        map[jobWord][]int   // Jobs, by the words of their arguments
	Webhooks    []Webhook           // of the configurations in the stream
	podWebhooks []Webhook           // that intercept the creation of Pods
	fillersOfCA map[int]Filler      // cache of FillerOf, by configuration
	// Hooks are the hooks that run around the plan of these resources.
	Hooks     []ordering.Resource
	condition ordering.Condition
}

// kindIndex finds the providers of kinds.
type kindIndex struct {
	providers   map[GroupKind][]provider
	CRDs        map[GroupKind]int      // CustomResourceDefinitions, by the kind that they define
	CRDsByGroup map[string][]int       // the same, by the group of that kind
	apiServices map[groupVersion][]int // APIServices
}

// bindingIndex finds grants of permissions.
type bindingIndex struct {
	bindings          map[object.ID][]int // RoleBindings and ClusterRoleBindings, by ServiceAccount
	groups            map[string][]int    // the same, by user group
	aggregatableRoles []int               // ClusterRoles that others may aggregate
}

// volumeIndex finds PersistentVolumes and their classes.
type volumeIndex struct {
	volumes        map[object.ID][]int // PersistentVolumes with a claimRef, by claim
	volumeSets     map[object.ID][]int // the same, by the claim's name without its ordinal
	pools          map[string][]int    // PersistentVolumes without a claimRef, by class
	defaultClasses []int               // default StorageClasses
}

// podIndex finds workloads, and selectors of their Pods.
type podIndex struct {
	templates []podTemplate               // per resource
	workloads map[podLabel][]int          // by each Pod label; the pair "" lists all of a namespace
	selecting map[podLabel][]podSelecting // selectors of Pods, by one of their labels; "" if none
}

// podLabel is a label of Pods of a namespace, "key=value".
type podLabel struct{ namespace, pair string }

// GroupKind is a kind without its version.
type GroupKind struct{ Group, Kind string }

type groupVersion struct{ group, version string }

// provider is a resource that makes a kind available in the cluster.
type provider struct {
	at   int
	rule ordering.Rule
}

// references collects the dependencies that the manifests of a stream express.
type references struct {
	*Index
	at             int // the resource being read
	edges          []graph.Edge
	first          int       // index of its first edge
	edgeStart      []int     // per resource: index of the first edge from it to the resource being read; less than first if none
	missing        []Missing // nil unless collectMissing
	collectMissing bool
}

func newReferences(ix *Index) *references {
	return &references{Index: ix, edgeStart: slices.Repeat([]int{-1}, len(ix.Resources))}
}

// Missing is a reference to a resource that is not in the stream.
type Missing struct {
	At       int
	ID       object.ID
	Strength graph.Strength
	Why      ordering.Reason
}

// namespace adds the edge from a resource's Namespace.
func (refs *references) namespace(r ordering.Resource) {
	refs.need(object.ID{Kind: "Namespace", Name: r.Namespace}, graph.Exists, ordering.RuleNamespace, "lives in")
}

// need adds an edge with gate Applied from the resource with the given ID; none if a manifest names
// no resource, so that the name is empty. where describes the place of the name in the manifest.
func (refs *references) need(id object.ID, s graph.Strength, rule ordering.Rule, where string) {
	from, ok := refs.ByID[id]
	switch {
	case id.Name == "":
	case ok:
		refs.edge(from, ordering.Applied, s, rule, where)
	case len(refs.byPreviousName[id]) > 0:
		for _, from := range refs.byFormerName(id) {
			refs.edge(from, ordering.Applied, s, rule, where)
		}
	case refs.collectMissing:
		refs.missing = append(refs.missing, Missing{refs.at, id, s, refs.reason(rule, where, id)})
	}
}

// byFormerName returns the resources whose previous ID was id: if possible, only ones
// renamed together with the referring resource.
func (refs *references) byFormerName(id object.ID) []int {
	all := refs.byPreviousName[id]
	family := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return refs.Resources[i].RenameGroup != refs.Resources[refs.at].RenameGroup })
	if len(family) > 0 {
		return family
	}
	return all
}

// edge adds an edge from a resource of the stream. It merges edges with the
// same gate and rule. The result is valid until the next call; nil if a resource
// refers to itself.
func (refs *references) edge(from int, gate ordering.Gate, s graph.Strength, rule ordering.Rule, where string) *graph.Edge {
	if from == refs.at {
		return nil
	}
	if refs.edgeStart[from] < refs.first {
		refs.edgeStart[from] = len(refs.edges)
	}
	for i := refs.edgeStart[from]; i < len(refs.edges); i++ {
		e := &refs.edges[i]
		if int(e.From) == from && e.Gate == gate && e.Why.Rule == rule {
			e.Strength = max(e.Strength, s)
			return e
		}
	}
	refs.edges = append(refs.edges, graph.NewEdge(from, refs.at, gate, s, refs.reason(rule, where, refs.Resources[from].ID)))
	return &refs.edges[len(refs.edges)-1]
}

func (refs *references) reason(rule ordering.Rule, where string, id object.ID) ordering.Reason {
	r := &refs.Resources[refs.at]
	if id.Namespace == r.Namespace {
		id.Namespace = ""
	}
	return ordering.Reason{Rule: rule, Detail: where + " " + id.String(), Where: r.Source}
}
