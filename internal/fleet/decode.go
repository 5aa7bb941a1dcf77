package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// decoder reads values out of a decoded document. It collects all faults with the paths of
// their fields instead of stopping at the first one.
type decoder struct{ faults []error }

func (d *decoder) fault(at, format string, args ...any) {
	d.faults = append(d.faults, fmt.Errorf("%s: "+format, append([]any{at}, args...)...))
}

// decode parses a document; the map is nil if it is none.
func decode(text []byte) (*decoder, map[string]any) {
	d := &decoder{}
	raw, err := tree.ToJSON(text)
	if err != nil {
		d.faults = append(d.faults, fmt.Errorf("it is not valid YAML: %s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")))
		return d, nil
	}
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		d.faults = append(d.faults, fmt.Errorf("it is not a map with apiVersion %s, kind %s, clusters and cohorts", APIVersion, Kind))
	}
	return d, top
}

// known reports unknown fields of an object.
func (d *decoder) known(at string, fields map[string]any) {
	names := fieldsAt(at)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			d.fault(strings.TrimPrefix(at+"."+name, "."), "unknown field%s", nearest.DidYouMean(name, names))
		}
	}
}

// constant requires a field with one value.
func (d *decoder) constant(name string, fields map[string]any, want string) {
	if got := d.text(name, fields[name]); got != want {
		d.fault(name, "is %q: write %s", got, want)
	}
}

// required reads a list that must have entries.
func (d *decoder) required(name string, top map[string]any) []any {
	list := d.list(name, top[name])
	if _, isList := top[name].([]any); top != nil && len(list) == 0 && (isList || top[name] == nil) {
		d.fault(name, "is empty: a fleet has at least one")
	}
	return list
}

func (d *decoder) list(at string, value any) []any {
	list, ok := value.([]any)
	if !ok && value != nil {
		d.fault(at, "must be a list, not %s", shown(value))
	}
	return list
}

// object returns nil for an absent one.
func (d *decoder) object(at string, value any) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		d.fault(at, "must be a map, not %s", shown(value))
	}
	return fields
}

func (d *decoder) text(at string, value any) string {
	text, ok := value.(string)
	switch {
	case value != nil && !ok:
		d.fault(at, "must be a string, not %s%s", shown(value), quotes(value))
	case ok && text == "":
		d.fault(at, "is empty: give it a value, or leave the field out")
	}
	return text
}

// texts reads a map of strings.
func (d *decoder) texts(at string, value any) map[string]string {
	fields := d.object(at, value)
	if fields == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		text, ok := fields[key].(string)
		if !ok {
			d.fault(at+"."+key, "must be a string, not %s%s", shown(fields[key]), quotes(fields[key]))
		}
		out[key] = text
	}
	return out
}

// duration returns 0 for an absent one.
func (d *decoder) duration(at string, value any) time.Duration {
	if value == nil {
		return 0
	}
	text, _ := value.(string)
	took, err := time.ParseDuration(text)
	if err != nil || took < 0 {
		d.fault(at, "%s is not a duration such as 5m", shown(value))
		return 0
	}
	return took
}

// quotes says what makes a string of a value that YAML reads as another type, as of y or 1.
func quotes(value any) string {
	switch value.(type) {
	case bool, float64:
		return ": write it in quotes"
	}
	return ""
}

// shown is a value in a message.
func shown(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	text, _ := json.Marshal(value) // decoded values always marshal
	return string(text)
}
