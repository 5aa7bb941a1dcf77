package ordering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/internal/stamp"
)

// OrderSource selects where the order of a stream comes from.
type OrderSource string

// Values of OrderSource. What places no resource leaves only the edges and the prerequisites.
const (
	OrderSourceAuto   OrderSource = ""       // stamps if any resource has them, else the only frame whose annotations are in the stream
	OrderSourceStamps OrderSource = "stamps" // a SortOrder's annotations
	OrderSourceArgoCD OrderSource = "argocd" // Argo CD's phases and waves
	OrderSourceHelm   OrderSource = "helm"   // groups of Helm's HIP-0025, and the order of charts
	OrderSourceNone   OrderSource = "none"   // no layers
)

// ParseOrderSource parses the value of --frame: "argocd", "helm", "none", or ""
// for OrderSourceAuto. Stamps need no flag: "stamps" is an error, too.
func ParseOrderSource(s string) (OrderSource, error) {
	switch f := OrderSource(s); f {
	case OrderSourceAuto, OrderSourceArgoCD, OrderSourceHelm, OrderSourceNone:
		return f, nil
	}
	return OrderSourceAuto, fmt.Errorf("%q is not a frame: write argocd, helm or none", s)
}

// placement says how a resource got its place.
type placement uint8

const (
	unplaced  placement = iota
	placed              // by its author
	byDefault           // by a rule that the author did not write, such as Argo CD's wave 0
	unmatched           // a SortOrder stamped it, but none of its selectors matched it
	early               // a prerequisite, such as a CRD or Namespace, that nothing placed
)

// scope is a part of the stream that a frame orders independently: one
// application of a stack, or all resources outside applications.
type scope struct {
	application string // "stack/application"; "" outside applications
	parentSet   int    // the set of the application, or -1
	resources   []int
	excluded    []references.Resource // in the same part of the stream, but not part of the plan
}

// title returns the name of a set within the scope.
func (s scope) title(name string) string {
	if s.application == "" {
		return name
	}
	return s.application + " " + name
}

// String describes the scope for use in a sentence.
func (s scope) String() string {
	if s.application == "" {
		return "one stream"
	}
	return "application " + s.application
}

// where returns the scope as the end of a sentence.
func (s scope) where() string {
	if s.application == "" {
		return ""
	}
	return " of application " + s.application
}

// usedOrderSource is a frame whose annotations the stream carries.
type usedOrderSource struct {
	orderSource OrderSource
	resources   []references.Resource
	name        string
	key         string // an annotation of the first resource
}

// place places resources: by a SortOrder's stamps across the whole stream, or
// by another frame within each application and among the resources outside
// applications. It orders applications by their stacks.
func (d *declarations) place() {
	d.placements = make([]placement, len(d.Resources))
	d.layerOf = make([]int, len(d.Resources))
	everything := scope{parentSet: -1, excluded: d.excludedResources}
	for i := range d.layerOf {
		d.layerOf[i] = -1
		everything.resources = append(everything.resources, i)
	}
	if stamped := d.stamped(everything); stamped || len(d.options.Stacks) == 0 {
		d.orderSource = d.placeByOrderSource(everything)
		d.placeByStack(false)
		return
	}
	d.orderSource = d.placeByOrderSource(d.outsideStacks())
	d.placeByStack(true)
}

// stamped reports whether the frame is a SortOrder's stamps.
func (d *declarations) stamped(s scope) bool {
	if d.options.OrderSource != OrderSourceAuto {
		return d.options.OrderSource == OrderSourceStamps
	}
	return slices.ContainsFunc(d.framesOf(s), func(f usedOrderSource) bool { return f.orderSource == OrderSourceStamps })
}

// framesOf lists the frames that a scope shows: where none of its resources carries
// one, those that a selection leaves out say what placed the whole.
func (d *declarations) framesOf(s scope) []usedOrderSource {
	shown := make([]references.Resource, len(s.resources))
	for at, i := range s.resources {
		shown[at] = d.Resources[i]
	}
	if found := framesShown(shown); len(found) > 0 {
		return found
	}
	return framesShown(s.excluded)
}

// placeByOrderSource chooses the frame of a scope and places its resources.
func (d *declarations) placeByOrderSource(s scope) OrderSource {
	found := d.framesOf(s)
	frame := d.chooseOrderSource(s, found)
	for _, f := range found {
		if f.orderSource != frame {
			d.notes = append(d.notes, fmt.Sprintf("%s%s %s, which are ignored: %s", plain.Count(len(f.resources), "resource"), s.where(), f.describe(), frame.rules()))
		}
	}
	switch frame {
	case OrderSourceStamps:
		d.placeByStamps(s)
	case OrderSourceArgoCD:
		d.placeByPhases(s)
	case OrderSourceHelm:
		d.placeByCharts(s)
	}
	return frame
}

// describe describes the annotations of the frame's resources.
func (f usedOrderSource) describe() string {
	if len(f.resources) == 1 {
		return "has " + f.name
	}
	return "have " + f.name
}

// framesShown returns the frames whose annotations are on resources.
func framesShown(resources []references.Resource) []usedOrderSource {
	all := []usedOrderSource{
		{orderSource: OrderSourceStamps, name: "a SortOrder's stamps"},
		{orderSource: OrderSourceArgoCD, name: "Argo CD's waves or hooks"},
		{orderSource: OrderSourceHelm, name: "Helm's groups"},
	}
	for _, r := range resources {
		for f, key := range []string{stampKey(r), argoKey(r), helmKey(r)} {
			if key != "" {
				all[f].resources = append(all[f].resources, r)
				if all[f].key == "" {
					all[f].key = key
				}
			}
		}
	}
	var found []usedOrderSource
	for _, f := range all {
		if len(f.resources) > 0 {
			found = append(found, f)
		}
	}
	return found
}

// stampKey, argoKey and helmKey return the annotation that assigns a resource
// to a frame, or "".
func stampKey(r references.Resource) string { return firstKey(r, stamp.LayerAnnotation) }

func firstKey(r references.Resource, keys ...string) string {
	for _, key := range keys {
		if _, ok := r.Annotations[key]; ok {
			return key
		}
	}
	return ""
}

func (d *declarations) chooseOrderSource(s scope, found []usedOrderSource) OrderSource {
	switch {
	case d.options.OrderSource != OrderSourceAuto:
		return d.options.OrderSource
	case len(found) > 0 && found[0].orderSource == OrderSourceStamps:
		return OrderSourceStamps
	case len(found) == 2:
		var parts []string
		for _, f := range found {
			first := f.resources[0]
			parts = append(parts, fmt.Sprintf("%s %s (such as %s on %s)", plain.Count(len(f.resources), "resource"), f.describe(), f.key, first.ID))
		}
		d.errs = append(d.errs, fmt.Errorf("two orders in %s: %s; choose one with --frame=argocd, --frame=helm or --frame=none", s.String(), strings.Join(parts, ", and ")))
		return OrderSourceNone
	case len(found) == 1:
		return found[0].orderSource
	case len(d.options.Charts) > 0 && s.application == "":
		return OrderSourceHelm
	}
	return OrderSourceNone
}

// rules explains why the other frames are not used.
func (f OrderSource) rules() string {
	switch f {
	case OrderSourceStamps:
		return "a SortOrder's stamps take precedence"
	case OrderSourceNone:
		return "no frame is used"
	}
	return "--frame=" + string(f) + " is set"
}
