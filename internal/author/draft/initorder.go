// Package draft proposes a first SortOrder for a stream: groups of resources that share a label, an
// annotation, a namespace or a sync wave, each a layer, with the gates that edges or the author's
// own order state. It is pure: any order of the same resources gives the same proposal.
//
//	order, err := draft.Propose(resources, ordering.Options{}, "shop")
//	os.Stdout.Write(order.YAML) // commented, and read by --order
package draft

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Order is a proposed SortOrder.
type Order struct {
	Name   string
	Layers []Layer // in the order of sortOrder
	By     string  // the grouping of the resources, for people: "label tier"
	// Left are the resources that no selector matches, and edges place.
	Left []object.ID
	// LocalConfig annotates the order as configuration of a package, which tools do not apply; set
	// by the caller.
	LocalConfig bool
	Hooks       []object.ID // around the plan; set by the caller, for the comment
}

// Layer is an entry of sortOrder, with its layer.
type Layer struct {
	Name      string
	Selector  selector
	Resources []object.ID
	Why       []string // why it comes after the layers before it, or first
	Mutual    []string // layers that need this one, and that it needs: none waits for another
	// DependsOn are the layers that it needs; nil means the one before it.
	DependsOn []string
	Applied   bool // later layers wait until it is applied, not ready
}

// Propose returns an order for resources. Layers keep every edge of the stream; there is no order
// between groups that need each other. The Objects are manifests as written: without the namespace
// that the cluster would add. It fails for faults of the stream itself, such as a cycle, and if a
// SortOrder's stamps order it already.
func Propose(resources []ordering.Resource, options ordering.Options, name string) (*Order, error) {
	for _, r := range resources {
		if s, stamped, _ := stamp.Read(r.Annotations); stamped {
			return nil, fmt.Errorf("%s has the stamp of order %s, annotation %s: the stream has an order already; remove it with sortorder strip to write another", r.Located(), s.Order, stamp.LayerAnnotation)
		}
	}
	framed, err := edges.Find(resources, options)
	if err != nil {
		return nil, err
	}
	frame := framed.OrderSource
	options.OrderSource, options.NoPrerequisites, options.Charts = ordering.OrderSourceNone, true, nil
	d, err := edges.Find(resources, options)
	if err != nil {
		return nil, err
	}
	p := newProposal(d)
	if frame == ordering.OrderSourceArgoCD {
		p.byWaves(true)
		p.rank()
		if rest := newProposal(d); rest.keepsMore(p) {
			p = rest
		}
	} else {
		p = byLabels(d, framed, nil)
		if narrow := byLabels(d, framed, p.circular()); narrow.mutual() < p.mutual() {
			p = narrow
		}
	}
	out := &Order{Name: name, By: p.by, Layers: p.layers()}
	for i, r := range p.Resources {
		if g := p.groupOf[i]; g < 0 || p.groups[g].selector.rest {
			out.Left = append(out.Left, r.ID)
		}
	}
	return out, nil
}

// byLabels returns the proposal by labels whose selectors match only some kinds. CRDs and
// Namespaces have groups of their own where that makes none of them wait.
func byLabels(d, framed *edges.Dependencies, narrow map[string]schema.GroupKind) *proposal {
	p := newProposal(d)
	p.narrow = narrow
	if p.byLabels(framed, true); p.definitionsWait() {
		p = newProposal(d)
		p.narrow = narrow
		p.byLabels(framed, false)
	}
	return p
}

// mutual returns the number of groups that need each other, or would with the relations between
// them.
func (p *proposal) mutual() int {
	n := 0
	for g := range p.groups {
		if p.isMutual(g) {
			n++
		}
	}
	return n
}

func (p *proposal) isMutual(g int) bool {
	return slices.Contains(p.knot[:g], p.knot[g]) || slices.Contains(p.knot[g+1:], p.knot[g])
}

// circular returns the selectors of groups that need each other, if they have inert members and
// others of one kind only, with that kind. A ServiceAccount with the label of a backend, which a
// migration uses, is no reason for the migration to be with the backend.
func (p *proposal) circular() map[string]schema.GroupKind {
	out := map[string]schema.GroupKind{}
	for n, g := range p.groups {
		kinds := map[schema.GroupKind]bool{}
		inert := false
		for _, i := range g.members {
			r := p.Resources[i]
			if edges.IsInertKind(r.GroupKind()) {
				inert = true
			} else {
				kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = true
			}
		}
		for kind := range kinds {
			if inert && len(kinds) == 1 && p.isMutual(n) {
				out[fmt.Sprint(g.selector)] = kind
			}
		}
	}
	return out
}

// byLabels proposes groups by labels, namespaces and kinds, in the order of Helm's groups if
// these placed resources. definitions gives CRDs and Namespaces groups of their own, if
// labels would match them.
func (p *proposal) byLabels(framed *edges.Dependencies, definitions bool) {
	p.byKeys(definitions)
	if framed.OrderSource == ordering.OrderSourceHelm {
		p.asFramed(framed)
	} else {
		p.inUsualOrder()
		p.awaitControllers()
		p.spareMentioned()
	}
	p.rank()
}

// keepsMore proposes waves with all workloads without an annotation in the rest, and
// reports whether that is better than another proposal, which selects them.
func (p *proposal) keepsMore(other *proposal) bool {
	p.byWaves(false)
	p.rank()
	return len(p.level) > 0 && slices.Max(p.level) > slices.Max(append(other.level, 0)) && !p.restIsLast()
}

// restIsLast reports whether workloads of the rest go last, as if by an oversight: because
// the rest is a group of the last level, or because they need a group of a later one.
func (p *proposal) restIsLast() bool {
	for g := range p.groups {
		if !p.groups[g].selector.rest {
			continue
		}
		for i, r := range p.Resources {
			if p.groupOf[i] < 0 && references.PodSpec(r.Object) != nil && p.depth[len(p.groups)+i] > p.depth[g] {
				return true
			}
		}
		return p.level[g] == slices.Max(p.level)
	}
	return false
}
