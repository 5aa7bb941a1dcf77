// Package annotations knows every key below ordapply.dev/ that the programs of
// this module read or write, and the annotations of Helm's HIP-0025 that they read,
// with a check of each value. A misspelt key would do nothing without a word.
//
//	for _, found := range annotations.Check(metas) {
//		fmt.Println(metas[found.On[0]].ID, found.Message)
//	}
package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// prefix is that of our keys.
const prefix = "ordapply.dev/"

// Found is one fault, and the resources that have it.
type Found struct {
	Key     string
	Message string // one line: what is wrong, and what to do
	Remark  bool   // nothing is wrong: the annotation does nothing
	On      []int  // the resources, as indices, in their order
	// Planned says that ordering.Build, or reading the stamps, reports it too.
	Planned bool
}

// Check looks at the annotations and labels of resources. Faults come in the order
// of the resources, then by key; the same fault of several is one.
func Check(metas []object.Meta) []Found {
	var found []Found
	at := map[string]int{}
	c := checker{}
	for i, m := range metas {
		for _, f := range c.resource(m) {
			id := f.Key + "\n" + f.Message
			if known, ok := at[id]; ok {
				found[known].On = append(found[known].On, i)
				continue
			}
			at[id] = len(found)
			f.On = []int{i}
			found = append(found, f)
		}
	}
	return found
}

// Others names the further resources of a fault, as the end of its message; "" for
// none.
func (f Found) Others(metas []object.Meta) string {
	const named = 3
	var names []string
	for _, i := range f.On[1:] {
		if len(names) == named {
			names = append(names, fmt.Sprintf("%d more", len(f.On)-1-named))
			break
		}
		names = append(names, metas[i].ID.String())
	}
	if len(names) == 0 {
		return ""
	}
	return "; also on " + strings.Join(names, ", ")
}

// checker remembers what checks of values said: a condition takes time to compile,
// and many resources may have the same.
type checker map[[2]string]error

func (c checker) value(k *key, value string) error {
	at := [2]string{k.name, value}
	err, known := c[at]
	if !known {
		err = k.check(value)
		c[at] = err
	}
	return err
}

func (c checker) resource(m object.Meta) []Found {
	var found []Found
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if f, faulty := c.annotation(key, m.Annotations); faulty {
			f.Key = key
			found = append(found, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		switch name, ours := strings.CutPrefix(key, prefix); {
		case !ours || slices.Contains(labels(), name):
		case known(name) != nil:
			found = append(found, Found{Key: key, Message: fmt.Sprintf("label %s does nothing: write it under annotations", key)})
		default:
			found = append(found, Found{Key: key, Message: unknown("label", key)})
		}
	}
	return found
}

func (c checker) annotation(key string, all map[string]string) (Found, bool) {
	if alone, ok := readinessAlone(key, all); ok {
		return Found{Message: alone, Remark: true}, true
	}
	name, ours := strings.CutPrefix(key, prefix)
	k := known(name)
	if !ours {
		k = foreign(key)
	}
	switch {
	case ours && k == nil:
		return Found{Message: unknown("annotation", key)}, true
	case k == nil || k.check == nil:
		return Found{}, false
	}
	if err := c.value(k, all[key]); err != nil {
		return Found{Message: fmt.Sprintf("annotation %s: %s", key, err), Planned: k.planned}, true
	}
	return Found{}, false
}

// unknown says that a key means nothing, and which is nearest.
func unknown(what, key string) string {
	var written []string
	for _, k := range keys() {
		if k.use != live {
			written = append(written, k.name)
		}
	}
	near := ordering.DidYouMean(strings.TrimPrefix(key, prefix), written)
	return fmt.Sprintf("%s %s is not known%s", what, key, strings.Replace(near, "mean ", "mean "+prefix, 1))
}
