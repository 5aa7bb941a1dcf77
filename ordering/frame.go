package ordering

import (
	"fmt"
	"slices"
	"strings"
)

// Frame is what places every resource of a stream.
type Frame string

// The frames.
const (
	FrameAuto   Frame = ""       // stamps if any resource has them, else the only frame there is
	FrameStamps Frame = "stamps" // a SortOrder's annotations
	FrameArgoCD Frame = "argocd" // Argo CD's phases and waves
	FrameHelm   Frame = "helm"   // groups of Helm's HIP-0025, and the order of charts
	FrameNone   Frame = "none"   // edges alone
)

// ParseFrame reads what --frame takes.
func ParseFrame(s string) (Frame, error) {
	switch f := Frame(s); f {
	case FrameAuto, FrameArgoCD, FrameHelm, FrameNone:
		return f, nil
	}
	return FrameAuto, fmt.Errorf("%q is no frame: write argocd, helm or none", s)
}

// standing is how a resource stands to what places resources.
type standing uint8

const (
	unplaced  standing = iota
	placed             // its author placed it
	byDefault          // a place that nobody wrote, such as Argo CD's wave 0
	unmatched          // a SortOrder stamped it, but none of its selectors matched
	early              // a CRD or Namespace that nothing placed
)

// scope is a part of the stream that one frame orders by itself: an application
// of a stack, or all that belongs to none.
type scope struct {
	application string // "stack/application"; "" for what belongs to none
	around      int    // the set of the application; -1
	resources   []int
	elsewhere   []Resource // of the same part, and no part of the plan
}

// title is the name of a set within the scope.
func (s scope) title(name string) string {
	if s.application == "" {
		return name
	}
	return s.application + " " + name
}

// String is the scope in a sentence.
func (s scope) String() string {
	if s.application == "" {
		return "one stream"
	}
	return "application " + s.application
}

// where ends a sentence about the stream with the part of it that is meant.
func (s scope) where() string {
	if s.application == "" {
		return ""
	}
	return " of application " + s.application
}

// framed is a frame that a stream shows.
type framed struct {
	frame     Frame
	resources []int
	name      string
	key       string // an annotation that the first of them carries
}

// place places resources: by a SortOrder's stamps across the whole stream, or by
// another frame within each application and within what belongs to none, never
// across these; and applications by their stacks.
func (d *declarations) place() {
	d.standing = make([]standing, len(d.resources))
	d.layerOf = make([]int, len(d.resources))
	everything := scope{around: -1, elsewhere: d.leftOut}
	for i := range d.layerOf {
		d.layerOf[i] = -1
		everything.resources = append(everything.resources, i)
	}
	if stamped := d.stamped(everything.resources); stamped || len(d.options.Stacks) == 0 {
		d.frame = d.placeByFrame(everything)
		d.placeByStack(false)
		return
	}
	d.frame = d.placeByFrame(d.outsideStacks())
	d.placeByStack(true)
}

// stamped reports whether a SortOrder's stamps are the frame.
func (d *declarations) stamped(resources []int) bool {
	if d.options.Frame != FrameAuto {
		return d.options.Frame == FrameStamps
	}
	return slices.ContainsFunc(resources, func(i int) bool { return stampKey(d.resources[i]) != "" })
}

// placeByFrame chooses the frame of a scope and places its resources by it.
func (d *declarations) placeByFrame(s scope) Frame {
	found := d.framesShown(s.resources)
	frame := d.chooseFrame(s, found)
	for _, f := range found {
		if f.frame != frame {
			d.notes = append(d.notes, fmt.Sprintf("%s%s %s, which are not used: %s", counted(len(f.resources), "resource", "resources"), s.where(), f.carried(), frame.rules()))
		}
	}
	switch frame {
	case FrameStamps:
		d.placeByStamps(s)
	case FrameArgoCD:
		d.placeByPhases(s)
	case FrameHelm:
		d.placeByCharts(s)
	}
	return frame
}

// carried is the frame as what its resources carry.
func (f framed) carried() string {
	if len(f.resources) == 1 {
		return "carries " + f.name
	}
	return "carry " + f.name
}

// framesShown lists the frames that resources carry.
func (d *declarations) framesShown(resources []int) []framed {
	all := []framed{
		{frame: FrameStamps, name: "a SortOrder's stamps"},
		{frame: FrameArgoCD, name: "Argo CD's waves or hooks"},
		{frame: FrameHelm, name: "Helm's groups"},
	}
	for _, i := range resources {
		r := d.resources[i]
		for f, key := range []string{stampKey(r), argoKey(r), helmKey(r)} {
			if key != "" {
				all[f].resources = append(all[f].resources, i)
				if all[f].key == "" {
					all[f].key = key
				}
			}
		}
	}
	var found []framed
	for _, f := range all {
		if len(f.resources) > 0 {
			found = append(found, f)
		}
	}
	return found
}

// stampKey, argoKey and helmKey are an annotation by which a resource belongs
// to a frame; "" when it does not.
func stampKey(r Resource) string { return firstKey(r, LayerAnnotation) }

func firstKey(r Resource, keys ...string) string {
	for _, key := range keys {
		if _, ok := r.Annotations[key]; ok {
			return key
		}
	}
	return ""
}

func (d *declarations) chooseFrame(s scope, found []framed) Frame {
	switch {
	case d.options.Frame != FrameAuto:
		return d.options.Frame
	case len(found) > 0 && found[0].frame == FrameStamps:
		return FrameStamps
	case len(found) == 2:
		var parts []string
		for _, f := range found {
			first := d.resources[f.resources[0]]
			parts = append(parts, fmt.Sprintf("%s %s (such as %s on %s)", counted(len(f.resources), "resource", "resources"), f.carried(), f.key, first.ID))
		}
		d.errs = append(d.errs, fmt.Errorf("two orders in %s: %s; say which one rules with --frame=argocd, --frame=helm or --frame=none", s.String(), strings.Join(parts, ", and ")))
		return FrameNone
	case len(found) == 1:
		return found[0].frame
	case len(d.options.Charts) > 0 && s.application == "":
		return FrameHelm
	}
	return FrameNone
}

// rules says why the other frames are not used.
func (f Frame) rules() string {
	switch f {
	case FrameStamps:
		return "a SortOrder's stamps rule"
	case FrameNone:
		return "no frame rules"
	}
	return "--frame=" + string(f) + " rules"
}

// counted is "1 resource", "3 resources".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
