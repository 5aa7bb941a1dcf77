package differential

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

const (
	shrinkRounds     = 8  // how often a chain is made smaller
	shrinkCandidates = 64 // that are tried in a round, in one batch
)

// shrink returns the smallest chain that it finds with the same difference.
func (p pair) shrink(ctx context.Context, rows rows, c *chain) *chain {
	if c.document == nil && idOf(c.wanted).Kind == "CustomResourceDefinition" {
		return c // its name follows from group and plural
	}
	for round := range shrinkRounds {
		candidates := smaller(append(slices.Clone(c.past), step{manifest: c.wanted}))
		for i := range candidates {
			candidates[i] = renamed(candidates[i], idOf(c.first).Name, fmt.Sprintf("s%dx%d", round, i))
		}
		var failing []*chain
		for _, r := range p.replay(ctx, rows, candidates) {
			if len(r.found) > 0 && signature(r.found[0]) == signature(c.found[0]) {
				r.document = c.document
				failing = append(failing, r)
			}
		}
		if len(failing) == 0 {
			return c
		}
		c = slices.MinFunc(failing, func(a, b *chain) int { return cmp.Compare(len(a.String()), len(b.String())) })
	}
	return c
}

// signature is the part of a difference that stays in smaller objects.
func signature(d difference) string {
	if d.what == owned {
		return string(d.what)
	}
	names := slices.DeleteFunc(slices.Clone(d.path), func(s any) bool { _, index := s.(int); return index })
	return fmt.Sprint(d.what, " ", names)
}

// smaller returns the steps without one of them, and without a field of all manifests,
// the largest fields first.
func smaller(steps []step) [][]step {
	var candidates [][]step
	for i := range steps[:len(steps)-1] {
		candidates = append(candidates, slices.Delete(slices.Clone(steps), i, i+1))
	}
	tried := map[string]bool{}
	var fields [][]step
	for _, s := range steps {
		for _, p := range paths(s.manifest) {
			if !tried[p.String()] {
				tried[p.String()] = true
				fields = append(fields, without(steps, p))
			}
		}
	}
	slices.SortStableFunc(fields, func(a, b []step) int { return cmp.Compare(size(a), size(b)) })
	candidates = append(candidates, fields...)
	candidates = slices.DeleteFunc(candidates, func(s []step) bool { return s[0].write != nil })
	return candidates[:min(len(candidates), shrinkCandidates)]
}

// without returns the steps without a field of their manifests.
func without(steps []step, p path) []step {
	var out []step
	for _, s := range steps {
		if _, has := at(s.manifest, p); has && s.manifest != nil {
			s.manifest, _ = drop(s.manifest, p).(map[string]any)
		}
		out = append(out, s)
	}
	return out
}

func size(steps []step) int {
	total := 0
	for _, s := range steps {
		data, _ := json.Marshal(s.manifest)
		total += len(data)
	}
	return total
}

// renamed returns the steps for an object of another name.
func renamed(steps []step, from, to string) []step {
	var out []step
	for _, s := range steps {
		if s.write != nil {
			s.write = &write{s.write.kind, bytes.ReplaceAll(s.write.body, []byte(from), []byte(to))}
		} else {
			data, _ := json.Marshal(s.manifest)
			s.manifest = nil
			_ = json.Unmarshal(bytes.ReplaceAll(data, []byte(from), []byte(to)), &s.manifest)
		}
		out = append(out, s)
	}
	return out
}

// replay takes the steps of new chains, one for each candidate, until a difference is
// found in it.
func (p pair) replay(ctx context.Context, rows rows, candidates [][]step) []*chain {
	b := &batch{pair: p, report: &report{rows: rows, explained: map[string]int{}}}
	longest := 0
	for _, steps := range candidates {
		b.chains = append(b.chains, &chain{first: steps[0].manifest})
		longest = max(longest, len(steps))
	}
	for i := range longest {
		var applied, again, written []*chain
		var writes []*write
		for n, c := range b.chains {
			switch {
			case i >= len(candidates[n]) || len(c.found) > 0 || c.over:
			case candidates[n][i].write == nil:
				c.wanted = candidates[n][i].manifest
				if reflect.DeepEqual(c.wanted, c.accepted) {
					again = append(again, c)
				} else {
					applied = append(applied, c)
				}
			case c.accepted != nil:
				written, writes = append(written, c), append(writes, candidates[n][i].write)
			}
		}
		b.writeAll(ctx, written, writes)
		if b.apply(ctx, applied) != nil || b.applyAgain(ctx, again) != nil {
			break
		}
	}
	return b.chains
}
