package edges

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/ordering"
)

// layer is one layer, as its resources are stamped.
type layer struct {
	stamp.Stamp
	first int // the first resource with its stamp, for messages
}

// placeByStamps places each resource in the layer of its stamp. Unmatched
// resources are placed later, when their dependents are known.
func (d *Declarations) placeByStamps(s scope) {
	all := d.Resources
	if len(s.excluded) > 0 {
		all = slices.Concat(all, d.resourcesAt(s.excluded))
	}
	layers, of, err := readLayers(all)
	if err != nil {
		d.Errs = append(d.Errs, err)
	}
	first := len(d.Sets)
	for l, earlier := range reduce(before(layers)) {
		name := layers[l].LayerName()
		s := Set{Name: name, Short: layers[l].Layer, Kind: ordering.Stamped, Within: -1, Gate: layers[l].Gate, Timeout: layers[l].Timeout}
		for _, e := range earlier {
			why := ordering.Reason{Rule: "layer", Detail: name + " comes after " + layers[e].LayerName(), Where: all[layers[l].first].Source}
			s.After = append(s.After, ordering.Barrier{Layer: first + e, Why: why})
		}
		d.AddSet(s)
	}
	for i, at := range of {
		switch {
		case at.layer < 0:
			continue
		case i >= len(d.Resources):
			if set := first + at.layer; !at.unmatched {
				d.addSetExternal(set, all[i].ID, excludedReason(d.Sets[set]))
			}
			continue
		case at.unmatched:
			d.Placements[i] = Unmatched
			d.Sets[first+at.layer].Implied = !layers[at.layer].Listed
		default:
			d.Placements[i] = Placed
			d.put(i, first+at.layer)
		}
		d.LayerOf[i] = first + at.layer
	}
}

// stamped is the position that a resource's stamp gives.
type stamped struct {
	layer     int  // -1 if it has no stamp
	unmatched bool // no selector matched it
}

// readLayers reads the stamps of resources. It is an error if stamps of one
// layer differ; the message names two resources.
func readLayers(resources []ordering.Resource) ([]layer, []stamped, error) {
	var layers []layer
	var errs []error
	byName := map[string]int{}
	of := make([]stamped, len(resources))
	for i, r := range resources {
		of[i].layer = -1
		s, ok, err := stamp.Read(r.Annotations)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Located(), err))
		}
		if !ok {
			continue
		}
		name := r.Annotations[stamp.LayerAnnotation]
		at, seen := byName[name]
		if !seen {
			at = len(layers)
			byName[name] = at
			layers = append(layers, layer{s, i})
		} else if why := differingField(layers[at].Stamp, s); why != "" {
			errs = append(errs, fmt.Errorf("layer %s: %s and %s have stamps with different %s; run sortorder on the whole stream again", name, resources[layers[at].first].ID, r.ID, why))
		}
		of[i] = stamped{layer: at, unmatched: s.Unmatched}
	}
	return sortLayers(layers, of), of, errors.Join(errs...)
}

// sortLayers sorts layers by order, wave and name for display.
func sortLayers(layers []layer, of []stamped) []layer {
	sorted := slices.SortedFunc(slices.Values(layers), func(a, b layer) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Layer, b.Layer))
	})
	byName := make(map[string]int, len(sorted))
	for i, l := range sorted {
		byName[l.LayerName()] = i
	}
	now := make([]int, len(layers))
	for i, l := range layers {
		now[i] = byName[l.LayerName()]
	}
	for i := range of {
		if of[i].layer >= 0 {
			of[i].layer = now[of[i].layer]
		}
	}
	return sorted
}

// differingField names the first field in which two stamps of a layer differ.
func differingField(a, b stamp.Stamp) string {
	switch {
	case a.Wave != b.Wave && max(a.Wave, b.Wave) < stamp.LastWave: // earlier versions of sortorder stamped a wave on unmatched resources
		return fmt.Sprintf("waves (%d and %d)", a.Wave, b.Wave)
	case a.Gate != b.Gate:
		return fmt.Sprintf("gates (%s and %s)", a.Gate, b.Gate)
	case a.Unmatched && b.Unmatched && a.Listed != b.Listed:
		return "places of unmatched resources"
	case a.Timeout != b.Timeout:
		return fmt.Sprintf("timeouts (%s and %s)", a.Timeout, b.Timeout)
	case (a.Needs == nil) != (b.Needs == nil) || !slices.Equal(a.Needs, b.Needs):
		return fmt.Sprintf("needs (%q and %q)", strings.Join(a.Needs, ","), strings.Join(b.Needs, ","))
	}
	return ""
}

// before returns, for each layer, the layers that come before it: by name if
// its stamps name them, else every layer of its order with a lower wave. Layers
// that are not in the stream are ignored.
func before(layers []layer) [][]int {
	byName := map[string]int{}
	named := map[string]bool{} // orders in which some layer names its needs
	for i, l := range layers {
		byName[l.LayerName()] = i
		named[l.Order] = named[l.Order] || l.Needs != nil
	}
	out := make([][]int, len(layers))
	for i, l := range layers {
		if l.Needs == nil {
			out[i] = lowerWaves(layers, l, !named[l.Order])
			continue
		}
		for _, name := range l.Needs {
			if at, ok := byName[name]; ok && at != i {
				out[i] = append(out[i], at)
			}
		}
	}
	return out
}

// lowerWaves returns the layers of an order with a lower wave than l. If next
// is set, it returns only the next lower wave, which implies the rest.
func lowerWaves(layers []layer, l layer, next bool) []int {
	var out []int
	for i, other := range layers {
		if other.Order != l.Order || other.Wave >= l.Wave {
			continue
		}
		if next && len(out) > 0 {
			switch below := layers[out[0]].Wave; {
			case other.Wave < below:
				continue
			case other.Wave > below:
				out = out[:0]
			}
		}
		out = append(out, i)
	}
	return out
}

// reduce returns the transitive reduction: it drops from each list the entries
// that come before another entry. Lists that form a cycle are returned
// unchanged.
func reduce(before [][]int) [][]int {
	reach := make([]*big.Int, len(before)) // all predecessors, as a bit set
	busy := make([]bool, len(before))
	cyclic := false
	var visit func(l int) *big.Int
	visit = func(l int) *big.Int {
		if reach[l] != nil || busy[l] {
			cyclic = cyclic || busy[l]
			return cmp.Or(reach[l], new(big.Int))
		}
		busy[l] = true
		all := new(big.Int)
		for _, b := range before[l] {
			all.Or(all, visit(b))
			all.SetBit(all, b, 1)
		}
		busy[l] = false
		reach[l] = all
		return all
	}
	out := make([][]int, len(before))
	for l := range before {
		visit(l)
		beyond := new(big.Int)
		for _, b := range before[l] {
			beyond.Or(beyond, visit(b))
		}
		for _, b := range before[l] {
			if beyond.Bit(b) == 0 {
				out[l] = append(out[l], b)
			}
		}
	}
	if cyclic {
		return before
	}
	return out
}

// stampKey, argoKey and helmKey return the annotation that assigns a resource
// to a frame, or "".
func stampKey(r ordering.Resource) string { return firstKey(r, stamp.LayerAnnotation) }
