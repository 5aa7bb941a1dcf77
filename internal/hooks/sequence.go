package hooks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// Hooks are those of a stream, in the order of its documents.
type Hooks []Hook

// Read parses the hooks of a stream. The errors are about those that are left out.
func Read(resources []ordering.Resource) (all Hooks, dropped []error) {
	for _, r := range resources {
		hook, err := Parse(r)
		if err != nil {
			dropped = append(dropped, fmt.Errorf("%s: %w", r.Located(), err))
			continue
		}
		all = append(all, hook)
	}
	return all, dropped
}

// Of returns the hooks of an event in the order in which they run: by weight,
// then by name, then in Helm's install order of kinds, then in the order of
// the documents. A hook that names the event twice is returned twice.
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
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name), sortorder.CompareHelmKinds(a.Kind, b.Kind))
	})
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
			out = append(out, ordering.PlannedHook{Event: string(event), ID: hook.ID, Source: hook.Source, Weight: hook.Weight})
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
