package hook

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// Hooks are a stream's hooks, in the order of its documents.
type Hooks []Hook

// Read parses the hooks of a stream, as the tool does whose annotations define its order. The
// errors are about the hooks that are left out.
func Read(resources []ordering.Resource, source ordering.OrderSource) (all Hooks, dropped []error) {
	parse := Parse
	if source == ordering.OrderSourceArgoCD {
		parse, resources = parseArgo, once(resources)
	}
	for _, r := range resources {
		hook, err := parse(r)
		if err != nil {
			dropped = append(dropped, fmt.Errorf("%s: %w", r.Located(), err))
			continue
		}
		all = append(all, hook)
	}
	return all, dropped
}

// once returns the first resource of each ID: the hooks of a wave run at once.
func once(resources []ordering.Resource) []ordering.Resource {
	seen := map[object.ID]bool{}
	return slices.DeleteFunc(slices.Clone(resources), func(r ordering.Resource) bool {
		twice := seen[r.ID]
		seen[r.ID] = true
		return twice
	})
}

// Of returns the hooks of an event in the order in which they run: by weight,
// then by name, then in Helm's install order of kinds, then in the order of
// the documents. A hook that names the event twice is returned twice. Argo CD's are ordered by
// kind first, then by name.
func (all Hooks) Of(event Event) []Hook {
	var out []Hook
	for _, hook := range all {
		for _, named := range hook.Events {
			if named == event {
				out = append(out, hook)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Hook) int {
		kinds := sortorder.CompareHelmKinds(a.Kind, b.Kind)
		if a.Argo {
			return cmp.Or(cmp.Compare(a.Weight, b.Weight), kinds, cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name), kinds)
	})
	return out
}

// Batches splits the hooks of an event, in their order as Of returns it, into the groups that
// run at once: one by one, or for Argo CD wave by wave. SyncFail hooks all run at once, as in
// Argo CD.
func Batches(ordered []Hook, event Event) [][]Hook {
	var out [][]Hook
	for i, hook := range ordered {
		if i > 0 && hook.Argo && (event == SyncFail || out[len(out)-1][0].Weight == hook.Weight) {
			out[len(out)-1] = append(out[len(out)-1], hook)
			continue
		}
		out = append(out, []Hook{hook})
	}
	return out
}

// Planned lists the hooks of each event, for people and programs.
func (all Hooks) Planned() []ordering.PlannedHook {
	var out []ordering.PlannedHook
	for _, event := range Events() {
		if event == Test {
			continue
		}
		for _, hook := range all.Of(event) {
			out = append(out, ordering.PlannedHook{Event: string(event), ID: hook.Planned, Source: hook.Source, Weight: hook.Weight})
		}
	}
	return out
}

// PlannedIn is Planned, with the waves that a plan has for the hooks within it.
func (all Hooks) PlannedIn(plan *ordering.Plan) []ordering.PlannedHook {
	out := all.Planned()
	for i, hook := range out {
		for _, within := range plan.Hooks {
			if within.Within && hook.Event == within.Event && hook.ID == within.ID {
				out[i].Within, out[i].Wave, out[i].ReadyBy = true, within.Wave, within.ReadyBy
			}
		}
	}
	return out
}

// Tests returns the hooks that run at no event but test.
func (all Hooks) Tests() []Hook {
	return slices.DeleteFunc(slices.Clone(all), func(hook Hook) bool {
		return slices.ContainsFunc(hook.Events, func(event Event) bool { return event != Test })
	})
}
