package ordering

import (
	"fmt"
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

// framed is a frame that a stream shows.
type framed struct {
	frame     Frame
	resources []int
	name      string
	key       string // an annotation that the first of them carries
}

// placeByFrame chooses the frame and places resources by it.
func (d *declarations) placeByFrame() {
	d.standing = make([]standing, len(d.resources))
	d.layerOf = make([]int, len(d.resources))
	for i := range d.layerOf {
		d.layerOf[i] = -1
	}
	found := d.framesShown()
	d.frame = d.chooseFrame(found)
	for _, f := range found {
		if f.frame != d.frame {
			d.notes = append(d.notes, fmt.Sprintf("%s %s, which are not used: %s", counted(len(f.resources), "resource carries", "resources carry"), f.name, d.frame.rules()))
		}
	}
	switch d.frame {
	case FrameStamps:
		d.placeByStamps()
	case FrameArgoCD:
		d.placeByPhases()
	case FrameHelm:
		d.placeByCharts()
	}
}

// framesShown lists the frames that resources of the stream carry.
func (d *declarations) framesShown() []framed {
	all := []framed{
		{frame: FrameStamps, name: "a SortOrder's stamps"},
		{frame: FrameArgoCD, name: "Argo CD's waves or hooks"},
		{frame: FrameHelm, name: "Helm's groups"},
	}
	for i, r := range d.resources {
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

func (d *declarations) chooseFrame(found []framed) Frame {
	switch {
	case d.options.Frame != FrameAuto:
		return d.options.Frame
	case len(found) > 0 && found[0].frame == FrameStamps:
		return FrameStamps
	case len(found) == 2:
		var parts []string
		for _, f := range found {
			first := d.resources[f.resources[0]]
			parts = append(parts, fmt.Sprintf("%s %s (such as %s on %s)", counted(len(f.resources), "resource carries", "resources carry"), f.name, f.key, first.ID))
		}
		d.errs = append(d.errs, fmt.Errorf("two orders in one stream: %s; say which one rules with --frame=argocd, --frame=helm or --frame=none", strings.Join(parts, ", and ")))
		return FrameNone
	case len(found) == 1:
		return found[0].frame
	case len(d.options.Charts) > 0:
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
