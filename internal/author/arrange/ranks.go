package arrange

import (
	"cmp"
	"maps"
	"slices"
)

// block is a section of the sorted stream: one of our layers, or one wave of
// another order whose stamps are kept. Resources of another order follow the
// rest, unless one of our layers needs them earlier or they need one of ours
// later. This only affects the text; an applier reads the stamps.
type block struct {
	slot  int    // 2*rank+1 for our layers; even numbers for other orders
	order string // the other order, or ""
	wave  int    // its wave
}

func compareBlocks(a, b block) int {
	return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.order, b.order), cmp.Compare(a.wave, b.wave))
}

// ranks numbers every resource's block, from 0 in order.
func (s Stream) ranks() []int {
	slots := s.foreignSlots()
	of := make([]block, len(s.Stamps))
	present := map[block]bool{}
	for i, stamp := range s.Stamps {
		of[i] = block{slot: 2*s.Placements[i].Layer.Rank + 1}
		if !s.Ours[i] && stamp.Order != "" {
			of[i] = block{slot: slots[wave{stamp.Order, stamp.Wave}], order: stamp.Order, wave: stamp.Wave}
		}
		present[of[i]] = true
	}
	number := map[block]int{}
	for n, b := range slices.SortedFunc(maps.Keys(present), compareBlocks) {
		number[b] = n
	}
	ranks := make([]int, len(s.Stamps))
	for i, b := range of {
		ranks[i] = number[b]
	}
	return ranks
}

// wave is one wave of another order.
type wave struct {
	order string
	wave  int
}

// foreignSlots places the waves of other orders among our layers: first after
// the rest, then after our layers that they need, then before our layers that
// need them.
func (s Stream) foreignSlots() map[wave]int {
	rankOf, rest := map[string]int{}, 0
	for _, layer := range s.Order.Layers {
		rankOf[s.Order.Name+"/"+layer.Name] = layer.Rank
		if layer.Unmatched {
			rest = layer.Rank
		}
	}
	slots, waveOf, needs := map[wave]int{}, map[string]wave{}, map[wave]int{}
	for i, stamp := range s.Stamps {
		if s.Ours[i] || stamp.Order == "" {
			continue
		}
		at := wave{stamp.Order, stamp.Wave}
		waveOf[stamp.LayerName()], slots[at] = at, 2*rest+2
		for _, need := range stamp.Needs {
			if rank, own := rankOf[need]; own {
				needs[at] = max(needs[at], 2*rank+2)
			}
		}
	}
	for from, slot := range needs {
		for at := range slots {
			if at.order == from.order && at.wave >= from.wave {
				slots[at] = max(slots[at], slot)
			}
		}
	}
	for _, layer := range s.Order.Layers {
		for _, need := range layer.Needs {
			if needed, ok := waveOf[need]; ok {
				moveEarlier(slots, needed, 2*layer.Rank)
			}
		}
	}
	return slots
}

// moveEarlier moves a wave, and the earlier waves of its order, to slot unless they
// are before it already.
func moveEarlier(slots map[wave]int, needed wave, slot int) {
	for at := range slots {
		if at.order == needed.order && at.wave <= needed.wave {
			slots[at] = min(slots[at], slot)
		}
	}
}
