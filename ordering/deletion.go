package ordering

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Deletion is the order in which resources are deleted: the reverse of the one
// in which they are applied. Custom resources, whoever brought their CRDs, go
// before the workloads of the stream, of which one may run their finalizers,
// APIServices before Namespaces, and CRDs and Namespaces last.
// kapp's rules about deleting go before all that.
type Deletion struct {
	Steps []DeletionStep // sorted by wave, then by ID
	Waves int            // the next begins when all resources of one are gone
	// Notes are remarks for people.
	Notes []string
	// Ends is the plan whose last waves the deletion is, as a prune's is of the
	// apply's; nil when it stands alone.
	Ends *Plan
}

// DeletionStep is the deletion of one resource.
type DeletionStep struct {
	ID   object.ID
	Wave int // from 0
	// After are the resources whose deletion comes first: with gate Ready they
	// must be gone, with Applied the request for them is sent before.
	After []Need
}

// Plan is the deletion as a plan, behind the one that it ends, for who shows what
// is going on: what comes first is what is needed.
func (d *Deletion) Plan() *Plan {
	p, first := &Plan{Notes: d.Notes}, d.FirstWave()
	if d.Ends != nil {
		*p = *d.Ends
		p.Steps, p.Waves, p.Notes = slices.Clone(p.Steps), slices.Clone(p.Waves), slices.Concat(p.Notes, d.Notes)
	}
	for range d.Waves {
		wave := Wave{}
		if d.Ends != nil {
			wave.Name = "prune"
		}
		p.Waves = append(p.Waves, wave)
	}
	for _, s := range d.Steps {
		p.Steps = append(p.Steps, Step{ID: s.ID, Wave: first + s.Wave, ReadyBy: first + s.Wave, Needs: s.After, Why: s.because()})
	}
	return p
}

// FirstWave is the index of the deletion's first wave among those of Plan.
func (d *Deletion) FirstWave() int {
	if d.Ends == nil {
		return 0
	}
	return len(d.Ends.Waves)
}

// because says, in short, why a resource is not deleted earlier.
func (s DeletionStep) because() Reason {
	if len(s.After) == 0 {
		return Reason{Rule: "nothing that is deleted needs it"}
	}
	why := s.After[0].ID.String()
	if more := len(s.After) - 1; more > 0 {
		why += fmt.Sprintf(" and %d more", more)
	}
	return Reason{Rule: "after " + why}
}

// DeletionOrder plans the deletion of resources, such as those of an earlier
// stream. Hooks are left out, as they are from an apply, unless the options keep
// them. The error is what Build would say of the resources, or a *CycleError of
// rules about deleting.
func DeletionOrder(resources []Resource, options Options) (*Deletion, error) {
	options.SkipHooks = true
	b, err := newBuilder(resources, options)
	if err != nil {
		return nil, err
	}
	edges := slices.Concat(b.deleteEdges(), b.reversed(), b.customFirst(), b.apiServicesFirst())
	resolved := resolve(len(b.resources)+2*len(b.sets), edges, b.isSetVertex)
	var errs []error
	for _, cycle := range resolved.cycles {
		errs = append(errs, b.cycleError(cycle))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	b.edges, b.readyVertex, b.readyOf = resolved.kept, nil, nil // a deletion has one event: it is gone
	b.graph = newGraph(len(b.resources)+2*len(b.sets), b.edges)
	b.rank, _ = b.graph.ranks()
	out := &Deletion{Waves: b.numberWaves(), Notes: b.contradicted(resolved.dropped)}
	for _, i := range b.byWave() {
		out.Steps = append(out.Steps, DeletionStep{ID: b.resources[i].ID, Wave: b.wave[i], After: b.needsOf(int32(i))})
	}
	return out, nil
}

// deleteEdges are kapp's rules about deleting.
func (b *builder) deleteEdges() []edge {
	var edges []edge
	for _, rule := range b.deleteRules {
		why := Reason{Rule: "kapp", Detail: "annotation " + rule.key + ": " + rule.String(), Where: b.resources[rule.resource].Source}
		for _, member := range b.changeMembers[rule.group] {
			switch {
			case member == rule.resource:
			case rule.before:
				edges = append(edges, resourceEdge(rule.resource, member, Ready, hard, why))
			default:
				edges = append(edges, resourceEdge(member, rule.resource, Ready, hard, why))
			}
		}
	}
	return edges
}

// reversed are the edges of an apply the other way round. What the author said
// of applying is weaker here than what he said of deleting.
func (b *builder) reversed() []edge {
	var edges []edge
	for _, e := range b.edges {
		from, to := b.ownVertex(e.to), b.ownVertex(e.from)
		if from == to || e.strength == certain { // the latter is about becoming ready; its twin is about both
			continue
		}
		e.from, e.to = from, to
		if e.why.Rule == rulePolicy { // what it protects must be gone, not only asked to go
			e.gate, e.weight = Ready, weight(Ready)
		}
		switch e.strength {
		case hard:
			e.strength = certain
		case place:
			e.strength = helps // more than what is only guessed about finalizers
		}
		edges = append(edges, e)
	}
	return edges
}

// ownVertex is the vertex of a resource, applied, for that of it being ready.
func (b *builder) ownVertex(v int32) int32 {
	if r, ok := b.readyOf[v]; ok {
		return r
	}
	return v
}

// customFirst lets workloads wait until the custom resources are gone: what runs
// their finalizers is not named in them. A workload that goes before one of a
// group, because it needs it, waits for none of that group.
func (b *builder) customFirst() []edge {
	var edges []edge
	var workloads []int
	groups := map[string]int{} // the set of each group's custom resources
	why := Reason{Rule: "finalizers", Detail: "a workload may run the finalizers of custom resources"}
	for i, r := range b.resources {
		switch {
		case b.isCustom(r.ID):
			group, seen := groups[r.Group]
			if !seen {
				group = b.addSet(set{name: "custom resources of " + r.Group, kind: Everything, within: -1})
				groups[r.Group] = group
			}
			// What gives way is a workload's waiting, never a resource's membership.
			edges = append(edges, edge{from: int32(i), to: b.exit(group), gate: Ready, strength: hard, why: why})
		case podSpec(r.Object) != nil:
			workloads = append(workloads, i)
		}
	}
	for _, group := range slices.Sorted(maps.Values(groups)) {
		for _, i := range workloads {
			edges = append(edges, edge{from: b.exit(group), to: int32(i), gate: Ready, weight: 1, strength: place, why: why})
		}
	}
	return edges
}

// apiServicesFirst lets Namespaces wait until the APIServices are gone: one whose
// backend went with its Namespace stops every Namespace from going.
func (b *builder) apiServicesFirst() []edge {
	var services, namespaces []int
	for i, r := range b.resources {
		switch {
		case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
			services = append(services, i)
		case isNamespace(r.ID):
			namespaces = append(namespaces, i)
		}
	}
	why := Reason{Rule: "apiservice", Detail: "no Namespace goes while an APIService has no backend"}
	var edges []edge
	for _, service := range services {
		for _, namespace := range namespaces {
			edges = append(edges, resourceEdge(service, namespace, Ready, place, why))
		}
	}
	return edges
}

// contradicted are the edges that rules about deleting overrule.
func (b *builder) contradicted(dropped []contradiction) []string {
	var notes []string
	for _, c := range dropped {
		if c.edge.strength > place && b.isResource(c.edge.from) && b.isResource(c.edge.to) {
			from, to := b.vertexName(c.edge.from), b.vertexName(c.edge.to)
			notes = append(notes, from+" is not deleted before "+to+", though it needs it ("+c.edge.why.String()+"): "+b.readable(c.road)[0].String())
		}
	}
	slices.SortFunc(notes, cmp.Compare[string])
	return notes
}
