package draft

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// key is a label or an annotation by which resources can be grouped.
type key struct {
	name       string
	annotation bool
}

func (k key) String() string {
	if k.annotation {
		return "annotation " + k.name
	}
	return "label " + k.name
}

// of returns a resource's value, and whether it has the key.
func (k key) of(m object.Meta) (string, bool) {
	all := m.Labels
	if k.annotation {
		all = m.Annotations
	}
	value, ok := all[k.name]
	return value, ok
}

// requirement is a condition on a key: its value, or its absence.
type requirement struct {
	key   key
	value string // "" if the key is absent
}

// selector is the selector of an entry of sortOrder.
type selector struct {
	match       []requirement
	namespace   string
	unspaced    bool // without a namespace
	group, kind string
	rest        bool // unmatched: true
}

func lastPart(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// orderKeys are the last parts of labels and annotations by which authors order
// resources, and labels by which they group them, best first.
func orderKeys() (words, labels []string) {
	return []string{"tier", "layer", "stage", "resource-group"}, []string{
		"app.kubernetes.io/part-of", "app.kubernetes.io/component", "app.kubernetes.io/name",
		"app.kubernetes.io/instance", "component", "app", "k8s-app", "name",
	}
}

// candidates returns the keys that may group the resources, best first.
func candidates(resources []ordering.Resource) []key {
	words, labels := orderKeys()
	rank := map[key]int{}
	for _, r := range resources {
		for _, annotation := range []bool{false, true} {
			all := r.Labels
			if annotation {
				all = r.Annotations
			}
			for name := range all {
				if at := slices.Index(words, lastPart(name)); at >= 0 {
					rank[key{name, annotation}] = at
				} else if at := slices.Index(labels, name); at >= 0 && !annotation {
					rank[key{name, false}] = len(words) + at
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(rank), func(a, b key) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a.String(), b.String()))
	})
}

// withoutCommon drops the keys with one value that workloads of several kinds have, such as the
// name of the application on all resources: kinds say more about an order.
func (p *proposal) withoutCommon(keys []key, resources []int) []key {
	return slices.DeleteFunc(keys, func(k key) bool {
		value := func(i int) string { value, _ := k.of(p.Resources[i].Meta); return value }
		kind := func(i int) string {
			if value(i) == "" {
				return ""
			}
			return p.workloadKind(i)
		}
		return len(valuesOf(resources, value)) == 1 && len(valuesOf(resources, kind)) > 1
	})
}

// best returns the key that groups the resources best: the first candidate with several
// values that most of them have, as far as such a candidate has most of them. A key with
// one value says nothing about an order: it is taken only if no other has any of them.
// covered is 0 if no candidate does.
func (p *proposal) best(from []key, resources []int) (chosen key, covered int) {
	counts, values := map[key]int{}, map[key]map[string]bool{}
	most := 0
	for _, k := range from {
		values[k] = map[string]bool{}
		for _, i := range resources {
			if value, _ := k.of(p.Resources[i].Meta); value != "" {
				counts[k]++
				values[k][value] = true
			}
		}
		if len(values[k]) > 1 {
			most = max(most, counts[k])
		}
	}
	for _, k := range from {
		if len(values[k]) > 1 && 4*counts[k] >= 3*most {
			return k, counts[k]
		}
	}
	for _, k := range from {
		if counts[k] > covered {
			chosen, covered = k, counts[k]
		}
	}
	return chosen, covered
}

// joined joins at most some items: "a, b, and 3 more".
func joined[T any](items []T, most int, text func(T) string) string {
	return plain.Line(strings.Join(plain.Sample(items, most, "and %d more", text), ", "))
}
