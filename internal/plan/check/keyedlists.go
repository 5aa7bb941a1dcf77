package check

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
)

// A keyedList is a list whose items server-side apply tells apart by their keys
// (x-kubernetes-list-type: map in the OpenAPI schema). It refuses two items of one key,
// which a create accepts.
type keyedList struct {
	path []string // of the list; "*" stands for every item of a list on the way
	keys []string
	// defaults are the values of keys that are missing.
	defaults map[string]string
}

func portDefaults() map[string]string { return map[string]string{"protocol": "TCP"} }

// containerLists are the keyed lists of a container.
func containerLists() []keyedList {
	return []keyedList{
		{path: []string{"env"}, keys: []string{"name"}},
		{path: []string{"ports"}, keys: []string{"containerPort", "protocol"}, defaults: portDefaults()},
		{path: []string{"volumeMounts"}, keys: []string{"mountPath"}},
		{path: []string{"volumeDevices"}, keys: []string{"devicePath"}},
		{path: []string{"resources", "claims"}, keys: []string{"name"}},
	}
}

// podLists are the keyed lists of a Pod spec.
func podLists() []keyedList {
	lists := []keyedList{
		{path: []string{"volumes"}, keys: []string{"name"}},
		{path: []string{"imagePullSecrets"}, keys: []string{"name"}},
		{path: []string{"hostAliases"}, keys: []string{"ip"}},
		{path: []string{"resourceClaims"}, keys: []string{"name"}},
		{path: []string{"schedulingGates"}, keys: []string{"name"}},
		{path: []string{"resources", "claims"}, keys: []string{"name"}},
		{path: []string{"topologySpreadConstraints"}, keys: []string{"topologyKey", "whenUnsatisfiable"}},
	}
	for _, containers := range []string{"initContainers", "containers", "ephemeralContainers"} {
		lists = append(lists, keyedList{path: []string{containers}, keys: []string{"name"}})
		for _, list := range containerLists() {
			list.path = append([]string{containers, "*"}, list.path...)
			lists = append(lists, list)
		}
	}
	return lists
}

// listsOf are the keyed lists of other kinds, apart from statuses.
func listsOf(id object.ID) []keyedList {
	switch id.GroupKind() {
	case "Service":
		return []keyedList{{path: []string{"spec", "ports"}, keys: []string{"port", "protocol"}, defaults: portDefaults()}}
	case "ServiceAccount":
		return []keyedList{{path: []string{"secrets"}, keys: []string{"name"}}}
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return []keyedList{
			{path: []string{"webhooks"}, keys: []string{"name"}},
			{path: []string{"webhooks", "*", "matchConditions"}, keys: []string{"name"}},
		}
	case "ValidatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicy.admissionregistration.k8s.io":
		return []keyedList{
			{path: []string{"spec", "matchConditions"}, keys: []string{"name"}},
			{path: []string{"spec", "variables"}, keys: []string{"name"}},
		}
	}
	return nil
}

// duplicateItems returns an error for each key that a keyed list has twice.
func duplicateItems(id object.ID, obj map[string]any) (errs []error) {
	for _, list := range listsOf(id) {
		errs = append(errs, list.duplicates(obj, list.path, "")...)
	}
	if pod := references.PodSpec(obj); pod != nil {
		for _, list := range podLists() {
			errs = append(errs, list.duplicates(pod, list.path, "")...)
		}
	}
	return errs
}

// duplicates follows the rest of the path from a value, which is at a place for messages.
func (l keyedList) duplicates(value any, path []string, at string) (errs []error) {
	switch {
	case len(path) == 0:
		return l.check(value, at)
	case path[0] == "*":
		for i, item := range asList(value) {
			errs = append(errs, l.duplicates(item, path[1:], at+itemName(item, i))...)
		}
		return errs
	}
	fields, _ := value.(map[string]any)
	return l.duplicates(fields[path[0]], path[1:], plain.Field(at, path[0]))
}

func (l keyedList) check(value any, at string) (errs []error) {
	first := map[string]int{}
	for i, item := range asList(value) {
		key := l.keyOf(item)
		if key == "" {
			continue
		}
		before, seen := first[key]
		if !seen {
			first[key] = i
			continue
		}
		errs = append(errs, fmt.Errorf("%s and %s have the same %s: keep one of them, since server-side apply cannot tell them apart", plain.Item(at, before), plain.Item(at, i), key))
	}
	return errs
}

// keyOf returns an item's key as text: "containerPort: 80, protocol: TCP"; "" if a key is
// missing, or has no plain value: the API server reports that.
func (l keyedList) keyOf(item any) string {
	fields, _ := item.(map[string]any)
	var parts []string
	for _, name := range l.keys {
		value, has := fields[name]
		if !has {
			value, has = l.defaults[name], l.defaults[name] != ""
		}
		switch value.(type) {
		case string, int64, float64, bool:
		default:
			has = false
		}
		if !has {
			return ""
		}
		parts = append(parts, fmt.Sprintf("%s: %v", name, value))
	}
	return strings.Join(parts, ", ")
}

// itemName names an item of a list: [name="web"], or [2] where it has no name.
func itemName(item any, i int) string {
	fields, _ := item.(map[string]any)
	if name, ok := fields["name"].(string); ok {
		return fmt.Sprintf("[name=%q]", name)
	}
	return fmt.Sprintf("[%d]", i)
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}
