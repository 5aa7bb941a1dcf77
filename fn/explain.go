package fn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Explanation returns one line for each resource, in output order, with its
// layer and selector; then, for each selector that matched nothing, an example
// that it would match.
func (o Output) Explanation() string {
	if o.order == nil {
		return ""
	}
	var b strings.Builder
	for _, i := range o.decision.Sorted {
		plain.Fprintln(&b, o.explain(i))
	}
	var placed []sortorder.Placement
	for i, p := range o.decision.Placements {
		if o.decision.Stamped[i] {
			placed = append(placed, p)
		}
	}
	for _, i := range o.order.UnusedIndices(placed) {
		if m, ok := o.order.Example(i); ok {
			plain.Fprintf(&b, "%s placed nothing; it would place %s\n", o.order.Describe(i), describe(m))
		}
	}
	return b.String()
}

// explain returns the line of one resource.
func (o Output) explain(i int) string {
	m, p := o.metas[i], o.decision.Placements[i]
	if o.decision.Stamped[i] {
		layer := o.order.Name + "/" + p.Layer.Name
		if p.Layer.Unmatched {
			return fmt.Sprintf("%s: %s: %s", m.ID, layer, cmp.Or(o.decision.HoistReasons[i], "no selector matches"))
		}
		return fmt.Sprintf("%s: %s, wave %d: %s", m.ID, layer, p.Layer.Rank, o.order.Describe(p.Selector))
	}
	if layer, ok := m.Annotations[stamp.LayerAnnotation]; ok {
		if wave, ok := m.Annotations[stamp.WaveAnnotation]; ok {
			layer += ", wave " + wave
		}
		return fmt.Sprintf("%s: %s: stamped by another order", m.ID, layer)
	}
	return fmt.Sprintf("%s: not placed: build configuration", m.ID)
}

// describe lists the properties of an example, in the terms of a selector.
func describe(m object.Meta) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"group", m.Group}, {"kind", m.Kind}, {"namespace", m.Namespace}, {"name", m.Name},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		parts = append(parts, "annotation "+key+"="+m.Annotations[key])
	}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		parts = append(parts, "label "+key+"="+m.Labels[key])
	}
	if len(parts) == 0 {
		return "a resource without any of the keys that selectors use"
	}
	return "a resource with " + strings.Join(parts, ", ")
}
