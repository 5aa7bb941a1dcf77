package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/author/arrange"
	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// Planner applies a SortOrder to resources in memory. It changes none of them.
type Planner struct {
	Order  *sortorder.Order // required
	Config object.ID        // the function's own configuration, which kpt includes in the items; zero if none
	// Objects returns the manifest of a resource by index. Its references
	// determine where unmatched resources go. It is not called for every
	// resource. If nil, only metadata is used.
	Objects func(i int) map[string]any
	// unconfigured reports that the run has no configuration: kpt calls a function without
	// configPath so.
	unconfigured bool
}

// Decision is the result of a SortOrder for a list of resources.
type Decision struct {
	Sorted       []int                 // indices of all resources, in order
	Changes      []Change              // per resource: annotations to change
	Placements   []sortorder.Placement // per resource: its layer
	Stamped      []bool                // per resource: whether this order placed it; others remain unchanged
	HoistReasons []string              // per resource: why it comes before its dependents although no selector matched it; else ""
	Findings     Findings              // everything to report; if Failed, the other fields must not be used
}

// Plan places, sorts and stamps resources; the lists of the decision have one
// entry for each of metas. Malformed stamps, and selectors that match nothing
// under strict, are findings with severity Error.
func (d Planner) Plan(metas []object.Meta) Decision {
	out := Decision{
		Placements: d.Order.Place(metas),
		Changes:    make([]Change, len(metas)),
		Stamped:    make([]bool, len(metas)),
	}
	for _, w := range d.Order.Warnings {
		out.Findings.add(Finding{Severity: Warning, Field: w.Path, Message: w.Message})
	}
	for _, field := range d.Order.ForApplier {
		out.Findings.add(Finding{Severity: Info, Field: field, Message: "has no effect in a build: pass this file to ordapply too, with --order"})
	}
	stream := arrange.Stream{
		Order: d.Order, Metas: metas, Placements: out.Placements, Stamps: make([]stamp.Stamp, len(metas)),
		Ours: out.Stamped, Excluded: make([]bool, len(metas)), Objects: d.Objects,
	}
	for i, m := range metas {
		if stream.Excluded[i] = d.isExcluded(m, &out.Findings); !stream.Excluded[i] {
			stream.Stamps[i], out.Stamped[i] = d.stamp(m, out.Placements[i], &out.Findings)
		}
	}
	plan := stream.Plan()
	out.setChanges(stream, plan)
	out.Findings.about(d.Config) // the rest names the order itself
	d.reportIdle(metas, &out, stream.Excluded)
	checkAgreement(metas, stream.Stamps, &out.Findings)
	out.Sorted, out.HoistReasons = stream.Sort(plan)
	if d.Order.Reindex {
		reindex(metas, &out, &out.Findings)
	}
	return out
}

// decide is Plan with a check of all ordapply.dev annotations.
func (d Planner) decide(metas []object.Meta) Decision {
	out := d.Plan(metas)
	if d.unconfigured {
		out.Findings.add(Finding{Severity: Warning, Message: "no configuration: every resource is unmatched; name a SortOrder with configPath or --fn-config"})
	}
	for _, found := range keys.Check(metas) {
		severity := Error
		if found.Remark {
			severity = Warning
		}
		out.Findings.add(Finding{Severity: severity, Object: &metas[found.On[0]], Message: found.Message + found.Others(metas)})
	}
	return out
}

// isExcluded reports whether an order ignores a resource: files of the build, and
// the function's own configuration. It adds an error for another SortOrder
// among the resources.
func (d Planner) isExcluded(m object.Meta, findings *Findings) bool {
	group, _ := object.SplitAPIVersion(sortorder.APIVersion)
	switch {
	case m.IsLocalConfig(), d.Config.Name != "" && m.ID == d.Config:
		return true
	case isCarrier(m):
		findings.add(Finding{Severity: Error, Object: &m, Message: "was packed by the first pass of an order and not unpacked by the second; " + twoPassAdvice})
		return true
	case m.Kind == sortorder.Kind && m.Group == group:
		findings.add(Finding{Severity: Error, Object: &m, Message: "is in the stream as a resource: list it under transformers in the kustomization, not under resources; in a kpt package, annotate it with " + object.LocalConfigAnnotation + `: "true"`})
		return true
	}
	return false
}

// stamp returns the resource's stamp, and whether it is from this order. The
// stamp of another order is kept unless one of our selectors matches the
// resource: the later run belongs to the outer build, which takes precedence.
func (d Planner) stamp(m object.Meta, p sortorder.Placement, findings *Findings) (stamp.Stamp, bool) {
	before, stamped, err := stamp.Read(m.Annotations)
	switch {
	case err != nil:
		findings.add(Finding{Severity: Error, Object: &m, Message: err.Error() + "; remove the stamps (sortorder strip) or correct them"})
		return before, false
	case stamped && before.Order != d.Order.Name && p.Layer.Unmatched:
		return before, false
	case stamped && before.Order != d.Order.Name:
		findings.add(Finding{Severity: Info, Object: &m, Message: fmt.Sprintf("moved from layer %s to %s by %s", before.LayerName(), d.Order.Name+"/"+p.Layer.Name, d.Order.Describe(p.Selector))})
	}
	return stampOf(d.Order.Name, p), true
}

// Stamp returns the annotations that stamp a placement by the order of this name on a
// resource: ordapply.dev/layer and the others.
func Stamp(order string, p sortorder.Placement) map[string]string {
	return stampOf(order, p).Annotations()
}

// stampOf converts a placement by the order of this name to a stamp.
func stampOf(order string, p sortorder.Placement) stamp.Stamp {
	s := stamp.Stamp{
		Order: order, Layer: p.Layer.Name, Wave: p.Layer.Rank,
		Needs: p.Layer.Needs, Timeout: p.Layer.Timeout, Unmatched: p.Layer.Unmatched, Listed: p.Layer.Listed,
	}
	if p.Layer.Applied {
		s.Gate = ordering.Applied
	}
	return s
}

// setChanges computes the changes of stamped resources.
func (d *Decision) setChanges(stream arrange.Stream, plan *arrange.Plan) {
	e := arrange.NewEmitter(stream, plan)
	for i, m := range stream.Metas {
		if d.Stamped[i] {
			emitted, tools := e.Annotations(i)
			stream.Stamps[i].Emitted = tools
			d.Changes[i] = change(m, stream.Stamps[i], emitted)
		}
	}
	for _, p := range e.Problems {
		f := Finding{Severity: Warning, Message: p.Message, Field: "emit"}
		if p.Resource >= 0 {
			f.Field, f.Object = "", &stream.Metas[p.Resource]
		}
		if p.Fails {
			f.Severity = Error
		}
		d.Findings.add(f)
	}
}

// change returns the change that leaves exactly this stamp and these
// annotations for other tools, without an earlier run's.
func change(m object.Meta, s stamp.Stamp, emitted map[string]string) Change {
	c := Change{Set: s.Annotations()}
	maps.Copy(c.Set, emitted)
	for _, key := range keys.Written(m) {
		if _, stays := c.Set[key]; !stays {
			c.Remove = append(c.Remove, key)
		}
	}
	return c
}

// reportIdle adds findings about selectors that matched nothing; build files do
// not count.
func (d Planner) reportIdle(metas []object.Meta, out *Decision, excluded []bool) {
	placed, considered := out.Placements, metas
	if slices.Contains(excluded, true) {
		placed, considered = nil, nil
		for i, p := range out.Placements {
			if !excluded[i] {
				placed, considered = append(placed, p), append(considered, metas[i])
			}
		}
	}
	severity := Warning
	if d.Order.Strict {
		severity = Error
	}
	for _, p := range d.Order.UnusedSelectorProblems(placed, considered) {
		out.Findings.add(Finding{Severity: severity, Field: p.Path, Message: p.Message})
	}
}

// isNoop reports whether the decision changes neither resources nor their order.
func (d Decision) isNoop(metas []object.Meta) bool {
	if !slices.IsSorted(d.Sorted) {
		return false
	}
	for i, change := range d.Changes {
		if !change.isNoop(metas[i]) {
			return false
		}
	}
	return true
}
