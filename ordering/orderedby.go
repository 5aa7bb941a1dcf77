package ordering

import (
	"slices"
	"strings"
)

// OrderedBy names the rules that order the plan: "order: shop" for the SortOrders of its
// layers, else "no SortOrder: references only", or the other declarations that it follows,
// as in "no SortOrder: Argo CD waves, stacks and references". It is "no order" if
// the order is ignored.
func (p *Plan) OrderedBy() string {
	if p.OrderIgnored {
		return "no order"
	}
	if orders := p.Orders(); len(orders) > 0 {
		return "order: " + strings.Join(orders, ", ")
	}
	if others := p.declarations(); len(others) > 0 {
		return "no SortOrder: " + strings.Join(others, ", ") + " and references"
	}
	return "no SortOrder: references only"
}

// Orders returns the names of the SortOrders whose layers the plan has, sorted.
func (p *Plan) Orders() []string {
	var names []string
	for _, layer := range p.Layers {
		if order, _, ok := strings.Cut(layer.Name, "/"); ok && layer.Kind == Stamped {
			names = append(names, order)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// declarations returns what else its author ordered the stream by.
func (p *Plan) declarations() []string {
	var out []string
	for _, layer := range p.Layers {
		out = append(out, layer.Kind.declaration())
	}
	for _, s := range p.Steps {
		if slices.ContainsFunc(s.Needs, func(n Need) bool { return n.Hard }) {
			out = append(out, "annotations")
			break
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" })
}

// declaration names the declarations that a kind of layer comes from; "" for the others.
func (k LayerKind) declaration() string {
	switch k {
	case ArgoWave:
		return "Argo CD waves"
	case HelmGroup:
		return "Helm groups"
	case HelmChart:
		return "charts"
	case StackLayer, Application:
		return "stacks"
	case ChangeGroup:
		return "kapp change groups"
	}
	return ""
}
