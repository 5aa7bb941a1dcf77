package edges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// usedOrderSource is a frame whose annotations the stream carries.
type usedOrderSource struct {
	orderSource ordering.OrderSource
	name        string
	count       int       // how many resources have one
	first       object.ID // of the resources that have one
	key         string    // an annotation of the first resource
}

// framesOf lists the frames of a scope: of its planned resources, or else of the
// resources that a selection leaves out.
func (d *Declarations) framesOf(s scope) []usedOrderSource {
	if found := d.framesShown(s.resources); len(found) > 0 {
		return found
	}
	return d.framesShown(s.excluded)
}

// placeByOrderSource chooses the frame of a scope among the ones found in it, and places its
// resources.
func (d *Declarations) placeByOrderSource(s scope, found []usedOrderSource) ordering.OrderSource {
	frame := d.chooseOrderSource(s, found)
	for _, f := range found {
		if f.orderSource != frame {
			d.Notes = append(d.Notes, fmt.Sprintf("%s%s %s, which are ignored: %s", plain.Count(f.count, "resource"), s.where(), f.describe(), rulesOut(frame)))
		}
	}
	switch frame {
	case ordering.OrderSourceStamps:
		d.placeByStamps(s)
	case ordering.OrderSourceArgoCD:
		d.placeByPhases(s)
	case ordering.OrderSourceHelm:
		d.placeByCharts(s)
	}
	return frame
}

// describe describes the annotations of the frame's resources.
func (f usedOrderSource) describe() string {
	if f.count == 1 {
		return "has " + f.name
	}
	return "have " + f.name
}

// framesShown returns the frames whose annotations are on resources, given by index.
func (d *Declarations) framesShown(resources []int) []usedOrderSource {
	all := []usedOrderSource{
		{orderSource: ordering.OrderSourceStamps, name: "a SortOrder's stamps"},
		{orderSource: ordering.OrderSourceArgoCD, name: "Argo CD's waves or hooks"},
		{orderSource: ordering.OrderSourceHelm, name: "Helm's groups"},
	}
	for _, i := range resources {
		r := d.resource(i)
		if len(r.Annotations) == 0 {
			continue
		}
		for f, key := range []string{stampKey(r), argoKey(r), helmKey(r)} {
			if key == "" {
				continue
			}
			if all[f].count == 0 {
				all[f].key, all[f].first = key, r.ID
			}
			all[f].count++
		}
	}
	return slices.DeleteFunc(all, func(f usedOrderSource) bool { return f.count == 0 })
}

func (d *Declarations) chooseOrderSource(s scope, found []usedOrderSource) ordering.OrderSource {
	switch {
	case d.Options.OrderSource != ordering.OrderSourceAuto:
		return d.Options.OrderSource
	case len(found) > 0 && found[0].orderSource == ordering.OrderSourceStamps:
		return ordering.OrderSourceStamps
	case len(found) == 2:
		var parts []string
		for _, f := range found {
			parts = append(parts, fmt.Sprintf("%s %s (such as %s on %s)", plain.Count(f.count, "resource"), f.describe(), f.key, f.first))
		}
		d.Errs = append(d.Errs, fmt.Errorf("two orders in %s: %s; choose one with --frame=argocd, --frame=helm or --frame=none", s.String(), strings.Join(parts, ", and ")))
		return ordering.OrderSourceNone
	case len(found) == 1:
		return found[0].orderSource
	case len(d.Options.Charts) > 0 && s.application == "":
		return ordering.OrderSourceHelm
	}
	return ordering.OrderSourceNone
}

// rulesOut explains why the other frames are not used.
func rulesOut(f ordering.OrderSource) string {
	switch f {
	case ordering.OrderSourceStamps:
		return "a SortOrder's stamps take precedence"
	case ordering.OrderSourceNone:
		return "no frame is used"
	}
	return "--frame=" + string(f) + " is set"
}
