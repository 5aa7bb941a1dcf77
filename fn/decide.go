package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/annotations"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// localConfig marks objects that configure the build and never reach a cluster.
const localConfig = "config.kubernetes.io/local-config"

// Decider decides about resources.
type Decider struct {
	Order  *sortorder.Order
	Config object.ID // the function's own configuration, which kpt lists among the items; zero: none
	// Objects gives the manifest of a resource by its index, to find in it which
	// others it needs: that decides where resources go that no selector placed. It
	// is not asked for all. nil: only the metadata is known.
	Objects func(i int) map[string]any
}

// Decision is what a SortOrder says about a list of resources.
type Decision struct {
	Sorted     []int                 // indices of the resources in order, each once
	Changes    []Change              // what to write on each resource
	Placements []sortorder.Placement // where each resource belongs
	Stamped    []bool                // whether this order placed the resource; others are left as they are
	Early      []string              // why a resource that no selector placed stands before others; "" for those that stand in their place
	Findings   Findings
}

// Change says which annotations of one resource to set and which to remove.
type Change struct {
	Set    map[string]string
	Remove []string // present ones only, sorted
}

// Decide places, sorts and stamps. When the findings have an error, nothing
// else is to be used.
func (d Decider) Decide(metas []object.Meta) Decision {
	out := Decision{
		Placements: d.Order.Place(metas),
		Changes:    make([]Change, len(metas)),
		Stamped:    make([]bool, len(metas)),
	}
	for _, w := range d.Order.Warnings {
		out.Findings.add(Finding{Severity: Warning, Field: w.Path, Message: w.Message})
	}
	for _, field := range d.Order.ForApplier {
		out.Findings.add(Finding{Severity: Info, Field: field, Message: "does nothing in a build: hand this file to the applier too, by ordapply --order"})
	}
	aside := make([]bool, len(metas))
	stamps := make([]ordering.Stamp, len(metas))
	for i, m := range metas {
		if aside[i] = d.aside(m, &out.Findings); aside[i] {
			continue
		}
		stamps[i], out.Stamped[i] = d.stamp(m, out.Placements[i], &out.Findings)
	}
	arranged := d.arrange(metas, stamps)
	d.changes(metas, &out, stamps, arranged)
	d.reportIdle(metas, &out, aside)
	checkAgreement(metas, stamps, &out.Findings)
	d.sort(metas, &out, stamps, arranged, aside)
	if d.Order.Reindex {
		reindex(metas, &out, &out.Findings)
	}
	return out
}

// decide is Decide, and a check of all annotations that are ours.
func (d Decider) decide(metas []object.Meta) Decision {
	out := d.Decide(metas)
	for _, found := range annotations.Check(metas) {
		severity := Error
		if found.Remark {
			severity = Warning
		}
		out.Findings.add(Finding{Severity: severity, Object: &metas[found.On[0]], Message: found.Message + found.Others(metas)})
	}
	return out
}

// aside tells whether a resource is no business of an order: files of the
// build, and the function's own configuration. Another SortOrder among the
// resources is a mistake.
func (d Decider) aside(m object.Meta, findings *Findings) bool {
	group, _ := object.SplitAPIVersion(sortorder.APIVersion)
	switch {
	case m.Annotations[localConfig] == "true", m.Kind == "Kptfile" && m.Group == "kpt.dev", d.Config.Name != "" && m.ID == d.Config:
		return true
	case isCarrier(m):
		findings.add(Finding{Severity: Error, Object: &m, Message: "is what the first pass of an order packed, and the second did not unpack; " + twice})
		return true
	case m.Kind == sortorder.Kind && m.Group == group:
		findings.add(Finding{Severity: Error, Object: &m, Message: "is a resource of the stream: list it under transformers of the kustomization, not under resources; in a kpt package, annotate it with " + localConfig + `: "true"`})
		return true
	}
	return false
}

// stamp decides what the resource's stamp is, and whether it is ours. What
// another order stamped is its, unless one of our selectors claims the
// resource: the later run is the outer author's, who has the last word.
func (d Decider) stamp(m object.Meta, p sortorder.Placement, findings *Findings) (ordering.Stamp, bool) {
	before, stamped, err := ordering.ReadStamp(m.Annotations)
	switch {
	case err != nil:
		findings.add(Finding{Severity: Error, Object: &m, Message: err.Error() + "; remove the stamps (sortorder strip) or correct them"})
		return before, false
	case stamped && before.Order != d.Order.Name && p.Layer.Unmatched:
		return before, false
	case stamped && before.Order != d.Order.Name:
		findings.add(Finding{Severity: Info, Object: &m, Message: fmt.Sprintf("moved from layer %s to %s by %s", before.LayerName(), d.Order.Name+"/"+p.Layer.Name, d.Order.Describe(p.Selector))})
	}
	return Stamp(d.Order.Name, p), true
}

// Stamp is a placement in the words of the annotations.
func Stamp(order string, p sortorder.Placement) ordering.Stamp {
	s := ordering.Stamp{
		Order: order, Layer: p.Layer.Name, Wave: p.Layer.Rank,
		Needs: p.Layer.Needs, Timeout: p.Layer.Timeout, Unmatched: p.Layer.Unmatched,
	}
	if p.Layer.Applied {
		s.Gate = ordering.Applied
	}
	return s
}

// changes are what is to be written on the resources of ours.
func (d Decider) changes(metas []object.Meta, out *Decision, stamps []ordering.Stamp, arranged *arrangement) {
	e := newEmitter(d, metas, out, stamps, arranged)
	if slices.Contains(d.Order.Emit, "kpt") {
		e.warnOfNames()
	}
	e.warnOfOrders()
	for i, m := range metas {
		if out.Stamped[i] {
			emitted, tools := e.emit(i)
			stamps[i].Emitted = tools
			out.Changes[i] = change(m, stamps[i], emitted)
		}
	}
}

// change leaves on a resource this stamp and these annotations for other tools,
// and nothing of an earlier run.
func change(m object.Meta, s ordering.Stamp, emitted map[string]string) Change {
	c := Change{Set: s.Annotations()}
	maps.Copy(c.Set, emitted)
	for _, key := range written(m) {
		if _, stays := c.Set[key]; !stays {
			c.Remove = append(c.Remove, key)
		}
	}
	return c
}

// written are the annotations on a resource that an earlier run wrote, sorted.
func written(m object.Meta) []string {
	keys := emittedKeys(m)
	for _, key := range ordering.StampAnnotations() {
		if _, has := m.Annotations[key]; has {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// reportIdle tells of selectors that won nothing; objects of the build do not
// count.
func (d Decider) reportIdle(metas []object.Meta, out *Decision, aside []bool) {
	var placed []sortorder.Placement
	var considered []object.Meta
	for i, p := range out.Placements {
		if !aside[i] {
			placed, considered = append(placed, p), append(considered, metas[i])
		}
	}
	severity := Warning
	if d.Order.Strict {
		severity = Error
	}
	for _, p := range d.Order.Idle(placed, considered) {
		out.Findings.add(Finding{Severity: severity, Field: p.Path, Message: p.Message})
	}
}

// sort puts what is aside first, in the order it came; then the resources by
// layer and kind, and what no selector placed before what needs it.
func (d Decider) sort(metas []object.Meta, out *Decision, stamps []ordering.Stamp, arranged *arrangement, aside []bool) {
	ranks := d.ranks(out, stamps)
	sorted := slices.DeleteFunc(d.Order.Sort(metas, ranks), func(i int) bool { return aside[i] })
	out.Early = make([]string, len(metas))
	if arranged != nil && mixed(stamps) && d.Order.OutputOrder == sortorder.ByPlan {
		sorted, out.Early = arranged.hoist(sorted, ranks)
	}
	for i := range metas {
		if aside[i] {
			out.Sorted = append(out.Sorted, i)
		}
	}
	out.Sorted = append(out.Sorted, sorted...)
}
