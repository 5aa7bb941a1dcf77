package planner

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	planedges "github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// DeletionOrder plans the deletion of resources, such as those of an earlier
// stream. Hooks are left out unless Options.KeepHooks is set. The error is about
// declarations, as Build's, or joins a *CycleError for each cycle of delete
// rules.
func DeletionOrder(resources []ordering.Resource, options ordering.Options) (*ordering.Deletion, error) {
	options.SkipHooks = true
	found, err := planedges.Find(resources, options)
	if err != nil {
		return nil, err
	}
	b := &planner{Dependencies: found}
	edges := slices.Concat(b.DeleteEdges(), b.reversedEdges(), b.customResourceEdges(), b.apiServiceEdges())
	resolved := graph.Resolve(b.Vertices(), edges, b.IsSetVertex)
	var errs []error
	for _, cycle := range resolved.Cycles {
		errs = append(errs, b.CycleError(cycle))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	b.Kept, b.ReadyVertex, b.ReadyOf = resolved.Kept, nil, nil // a deletion has only one event per resource: it is gone
	b.graph = b.Graph()
	b.rank, _ = b.graph.Ranks()
	waves := make([]ordering.Wave, b.numberWaves())
	b.nameWaves(waves)
	out := &ordering.Deletion{Waves: len(waves), Notes: b.overruledNotes(resolved.Dropped)}
	for _, wave := range waves {
		out.Names = append(out.Names, wave.Name)
	}
	for _, i := range b.byWave() {
		out.Steps = append(out.Steps, ordering.DeletionStep{ID: b.Resources[i].ID, Wave: b.wave[i], After: b.needsOf(int32(i))})
	}
	return out, nil
}

// reversedEdges returns the edges of an apply with both ends swapped. Declared edges
// become weaker than delete rules.
func (b *planner) reversedEdges() []graph.Edge {
	var edges []graph.Edge
	for _, e := range b.Kept {
		from, to := b.ownVertex(e.To), b.ownVertex(e.From)
		if from == to || e.Strength == graph.Certain && !b.isDropped(from, to) { // a certain edge is about becoming ready; another edge of the same reference remains
			continue
		}
		if e.Why.Rule == ordering.RuleArgument && e.Strength == graph.Required { // a program that ends no longer needs its output
			continue
		}
		e.From, e.To = from, to
		if e.Why.Rule == ordering.RulePolicy || e.Gate == ordering.Started { // the dependent must be gone, not only its delete request sent
			e.Gate, e.Weight = ordering.Ready, graph.WavesBetween(ordering.Ready)
		}
		switch e.Strength {
		case graph.Hard:
			e.Strength = graph.Certain
		case graph.Certain:
			e.Strength = graph.Serves // as the edge that was dropped
		case graph.DefaultPlace:
			e.Strength = graph.Helps // stronger than guesses about finalizers
		}
		edges = append(edges, e)
	}
	return edges
}

// isDropped reports whether an edge between two vertices was dropped.
func (b *planner) isDropped(to, from int32) bool {
	return slices.ContainsFunc(b.Dropped, func(c graph.Contradiction) bool {
		return b.ownVertex(c.Edge.From) == from && b.ownVertex(c.Edge.To) == to
	})
}

// ownVertex returns the vertex of a resource being applied, given the vertex of
// it being ready.
func (b *planner) ownVertex(v int32) int32 {
	if r, ok := b.ReadyOf[v]; ok {
		return r
	}
	return v
}

// customResourceEdges makes workloads, and resources that a controller reads, wait until
// custom resources are gone: a controller that runs their finalizers is not named in
// their manifests, nor are the credentials and permissions that it uses. Dependents of a
// custom resource are deleted before it, and do not wait for its group.
func (b *planner) customResourceEdges() []graph.Edge {
	var edges []graph.Edge
	var needed []int
	groups := map[string]int{} // group to the set of its custom resources
	why := ordering.Reason{Rule: "finalizers", Detail: "the finalizers of custom resources may need it"}
	for i, r := range b.Resources {
		switch {
		case b.IsCustom(r.ID):
			group, seen := groups[r.Group]
			if !seen {
				group = b.AddSet(planedges.Set{Name: "custom resources of " + r.Group, Kind: ordering.AllPlaced, Within: -1})
				groups[r.Group] = group
			}
			// If edges conflict, the workload's edge is dropped, not the
			// membership.
			edges = append(edges, graph.Edge{From: int32(i), To: b.Exit(group), Gate: ordering.Ready, Strength: graph.Hard, Why: why})
		case references.PodSpec(r.Object) != nil, mayServeFinalizers(r.ID):
			needed = append(needed, i)
		}
	}
	for _, group := range slices.Sorted(maps.Values(groups)) {
		for _, i := range needed {
			edges = append(edges, graph.Edge{From: b.Exit(group), To: int32(i), Gate: ordering.Ready, Weight: 1, Strength: graph.DefaultPlace, Why: why})
		}
	}
	return edges
}

// mayServeFinalizers reports whether a controller may read an object, or act by it, when
// it runs a finalizer: the Secret that holds the credentials of a cloud, for example.
func mayServeFinalizers(id object.ID) bool {
	switch id.GroupKind() {
	case "Secret", "ConfigMap", "ServiceAccount":
		return true
	}
	return id.Group == "rbac.authorization.k8s.io"
}

// apiServiceEdges makes Namespaces wait until the APIServices are gone: an
// APIService whose backend is deleted blocks the deletion of every Namespace.
func (b *planner) apiServiceEdges() []graph.Edge {
	var services, namespaces []int
	for i, r := range b.Resources {
		switch {
		case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
			services = append(services, i)
		case r.ID.IsNamespace():
			namespaces = append(namespaces, i)
		}
	}
	why := ordering.Reason{Rule: "apiservice", Detail: "no Namespace can be deleted while an APIService has no backend"}
	var edges []graph.Edge
	for _, service := range services {
		for _, namespace := range namespaces {
			edges = append(edges, graph.NewEdge(service, namespace, ordering.Ready, graph.DefaultPlace, why))
		}
	}
	return edges
}

// overruledNotes returns notes about the edges that delete rules overrule.
func (b *planner) overruledNotes(dropped []graph.Contradiction) []string {
	var notes []string
	for _, c := range dropped {
		if c.Edge.Strength > graph.DefaultPlace && b.IsResource(c.Edge.From) && b.IsResource(c.Edge.To) {
			from, to := b.VertexName(c.Edge.From), b.VertexName(c.Edge.To)
			notes = append(notes, from+" is not deleted before "+to+", although it needs it ("+c.Edge.Why.String()+"): "+b.Describe(c.Path)[0].String())
		}
	}
	slices.SortFunc(notes, cmp.Compare[string])
	return notes
}
