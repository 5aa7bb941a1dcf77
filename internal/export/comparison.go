package export

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
)

// comparison compares two versions of an object.
type comparison struct {
	*finder
	want, have, rest document
}

// say adds a finding about the object.
func (c *comparison) say(what, why, do string) {
	c.add(Finding{c.have.path, c.have.name() + " " + what, why, do})
}

// settle gives a field of the copy the wanted value: its difference has been reported.
func (c *comparison) settle(fields ...string) {
	from, to := c.want.object, c.rest.object
	for _, field := range fields[:len(fields)-1] {
		below, _ := to[field].(map[string]any)
		if below = maps.Clone(below); below == nil {
			below = map[string]any{}
		}
		to[field] = below
		to = below
		from, _ = from[field].(map[string]any)
	}
	last := fields[len(fields)-1]
	if value, has := from[last]; has {
		to[last] = value
	} else {
		delete(to, last)
	}
}

// keyed compares two lists by the keys of their items.
func keyed(want, have []map[string]any, key func(map[string]any) string) (gone, added, changed []string) {
	was, is := map[string]map[string]any{}, map[string]map[string]any{}
	for _, item := range want {
		was[key(item)] = item
	}
	for _, item := range have {
		is[key(item)] = item
	}
	for k := range was {
		if now, there := is[k]; !there {
			gone = append(gone, k)
		} else if len(diff.Between(was[k], now)) > 0 {
			changed = append(changed, k)
		}
	}
	for k := range is {
		if _, there := was[k]; !there {
			added = append(added, k)
		}
	}
	slices.Sort(gone)
	slices.Sort(added)
	slices.Sort(changed)
	return gone, added, changed
}

// fieldText returns a field of an item as text.
func fieldText(item map[string]any, field string) string {
	value, _ := item[field].(string)
	return value
}

// layer returns the layer that an object of the engine applies: the last part of a path.
func layer(folder string) string { return path.Base(strings.TrimPrefix(folder, "./")) }

// changeText describes a field that differs. The values of Secrets are not printed.
func changeText(c diff.Change, secret bool) string {
	value := func(v any) string {
		return plain.Clip(strings.TrimPrefix(diff.Change{Kind: diff.Added, After: v}.String(), "+ : "), 60)
	}
	switch {
	case secret:
		return c.Path + " differs"
	case c.Kind == diff.Added:
		return c.Path + " was added (" + value(c.After) + ")"
	case c.Kind == diff.Removed:
		return c.Path + " is missing (" + value(c.Before) + ")"
	case c.Kind == diff.Reordered:
		return c.Path + " has its items in another order"
	}
	return c.Path + " is " + value(c.After) + " instead of " + value(c.Before)
}
