package status

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Current is an object without the conditions that describe an older generation.
type Current struct {
	Object *unstructured.Unstructured // without them; the object itself if there are none
	// Unsure is the object with these conditions at status Unknown, as their controller has
	// not updated them yet. It is nil if there are none, and if the status as a whole has
	// observed the current generation.
	Unsure   *unstructured.Unstructured
	Outdated string // describes the first of them; "" if there are none
}

// CurrentOf leaves out the conditions whose observedGeneration is older than the object, and
// entries of controllers that have written a newer one. It does not change the object, but
// the results share values with it. A status within a status describes another object, with
// generations of its own, and stays as it is.
func CurrentOf(obj *unstructured.Unstructured) Current {
	cut := outdatedCut{generation: obj.GetGeneration()}
	status, changed := cut.part(Status(obj))
	if !changed {
		return Current{Object: obj}
	}
	current := Current{Object: WithStatus(obj, status), Outdated: cut.first}
	if seen, dated := ObservedGeneration(obj); !dated || seen < cut.generation {
		unsure := outdatedCut{generation: cut.generation, keep: true}
		status, _ := unsure.part(Status(obj))
		current.Unsure = WithStatus(obj, status)
	}
	return current
}

// WithStatus returns an object with another status, which shares all other values; without
// one for nil.
func WithStatus(obj *unstructured.Unstructured, status map[string]any) *unstructured.Unstructured {
	fields := maps.Clone(obj.Object)
	delete(fields, "status")
	if status != nil {
		fields["status"] = status
	}
	return &unstructured.Unstructured{Object: fields}
}

// outdatedCut removes conditions of older generations, or keeps them with status Unknown.
type outdatedCut struct {
	generation int64
	keep       bool
	first      string
}

// part returns a map of a status without outdated conditions, and whether it had any.
func (cut *outdatedCut) part(part map[string]any) (rest map[string]any, changed bool) {
	rest = part
	for key, value := range part {
		var kept any
		var differs bool
		switch value := value.(type) {
		case map[string]any:
			if key == "status" {
				continue
			}
			if key == "conditions" {
				kept, differs = cut.byName(value)
			} else {
				kept, differs = cut.part(value)
			}
		case []any:
			kept, differs = cut.list(value, isConditions(key))
		}
		if !differs {
			continue
		}
		if !changed {
			rest, changed = maps.Clone(part), true
		}
		if rest[key] = kept; kept == nil {
			delete(rest, key) // as before its controller has written any
		}
	}
	return rest, changed
}

// list cuts the entries of a list; nil if none is left.
func (cut *outdatedCut) list(items []any, conditions bool) (rest any, changed bool) {
	var kept []any
	superseded := staleItems(items, cut.generation)
	for i, item := range items {
		entry, isMap := item.(map[string]any)
		switch {
		case isMap && superseded[i]:
			changed = true
			continue
		case isMap && conditions && cut.isOutdated(entry, firstOf(entry, "type", "name", "conditionType")):
			changed = true
			if !cut.keep {
				continue
			}
			item = unsureCondition(entry)
		case isMap && !conditions:
			cutEntry, differs := cut.part(entry)
			item, changed = cutEntry, changed || differs
		}
		kept = append(kept, item)
	}
	if len(kept) == 0 {
		return nil, changed
	}
	return kept, changed
}

// byName cuts conditions that are stored as a map; nil if none is left.
func (cut *outdatedCut) byName(conditions map[string]any) (rest any, changed bool) {
	kept := map[string]any{}
	for name, value := range conditions {
		entry, isMap := value.(map[string]any)
		if isMap && cut.isOutdated(entry, name) {
			changed = true
			if !cut.keep {
				continue
			}
			value = unsureCondition(entry)
		}
		kept[name] = value
	}
	if len(kept) == 0 {
		return nil, changed
	}
	return kept, changed
}

func (cut *outdatedCut) isOutdated(condition map[string]any, name any) bool {
	seen, dated := Integer(condition["observedGeneration"])
	if !dated || seen >= cut.generation {
		return false
	}
	if text := outdatedText(fmt.Sprint(name), seen, cut.generation); cut.first == "" || text < cut.first {
		cut.first = text
	}
	return true
}

func outdatedText(name string, seen, generation int64) string {
	return fmt.Sprintf("condition %s has observed generation %d, and the generation is %d", name, seen, generation)
}

// unsureCondition returns a condition whose status is not known.
func unsureCondition(condition map[string]any) map[string]any {
	unsure := maps.Clone(condition)
	for _, key := range []string{"status", "state", "value"} {
		if _, has := unsure[key]; has {
			unsure[key] = "Unknown"
		}
	}
	delete(unsure, "reason")
	delete(unsure, "message")
	return unsure
}
