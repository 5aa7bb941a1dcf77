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
	Left  []object.ID
	Hooks []object.ID // around the plan; set by the caller, for the comment
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
	} else if p.byLabels(framed, true); p.definitionsWait() {
		p = newProposal(d)
		p.byLabels(framed, false)
	}
	out := &Order{Name: name, By: p.by, Layers: p.layers()}
	for i, r := range p.Resources {
		if g := p.groupOf[i]; g < 0 || p.groups[g].selector.rest {
			out.Left = append(out.Left, r.ID)
		}
	}
	return out, nil
}

// byLabels proposes groups by labels, namespaces and kinds, in the order of Helm's groups if
// these placed resources. definitions gives CRDs and Namespaces groups of their own, if
// labels would match them.
func (p *proposal) byLabels(framed *edges.Dependencies, definitions bool) {
	p.byKeys(definitions)
	if framed.OrderSource == ordering.OrderSourceHelm {
		p.asFramed(framed)
	} else {
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
