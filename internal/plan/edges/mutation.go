package edges

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// mutations adds the edges from the objects whose values a resource takes: their fields are
// read when they are ready. One that is not in the stream is waited for in the cluster.
func (d *Declarations) mutations(i int, r ordering.Resource) {
	entries, err := mutation.Of(r.Annotations)
	if err == nil && r.Object != nil {
		err = mutation.CheckTargets(r.Object, entries)
	}
	if err != nil {
		d.fail(r, "%w", err)
		return
	}
	for n, e := range entries {
		if d.secretive.Is(e, r.Namespace) {
			if err := e.CheckSecret(); err != nil {
				d.fail(r, "%w", mutation.InEntry(n, err))
				continue
			}
		}
		id := d.sourceOf(r, e.Source)
		why := ordering.Reason{Rule: ordering.RuleMutation, Detail: e.TargetPath + " takes " + e.SourcePath + " of " + id.String(), Where: r.Source}
		switch from, ok := d.ByID[id]; {
		case ok && from == i:
			d.fail(r, "annotation %s, entry %d: the resource takes a value of itself: remove the entry", mutation.Annotation, n+1)
		case ok:
			d.Edges = append(d.Edges, graph.NewEdge(from, i, ordering.Ready, graph.Hard, why))
		case d.Options.Incomplete && !d.ExcludedIDs[id]:
		default:
			d.External[i] = append(d.External[i], ordering.Need{ID: id, Gate: ordering.Ready, Why: why, Hard: true})
		}
	}
}

// secretiveIn returns the resources of a stream that take values of Secrets.
func secretiveIn(resources []ordering.Resource) mutation.Secretive {
	taken := map[object.ID][]mutation.Entry{}
	for _, r := range resources {
		if entries, err := mutation.Of(r.Annotations); err == nil && len(entries) > 0 {
			taken[r.ID] = entries
		}
	}
	return mutation.SecretiveAmong(taken)
}

// sourceOf returns the ID of a source. Without a namespace it is in the resource's, or
// cluster-scoped if the stream has such a resource; the run decides about one that is not in
// the stream.
func (d *Declarations) sourceOf(r ordering.Resource, source mutation.Reference) object.ID {
	id := source.ID()
	if id.Namespace != "" {
		return id
	}
	near := id
	near.Namespace = r.Namespace
	if _, ok := d.ByID[near]; !ok {
		if _, ok := d.ByID[id]; ok {
			return id
		}
	}
	return near
}
