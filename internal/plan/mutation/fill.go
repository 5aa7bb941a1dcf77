package mutation

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Value is the value that an entry takes.
type Value struct {
	Is     any
	Secret bool // it comes from a Secret
}

// Fill returns a copy of a manifest with the values of its entries, one after the other, and
// the places of values from Secrets. Neither the path nor the token of a later entry finds
// anything in the value of a Secret: the result would otherwise reveal it. The error names
// the entry, and no value.
func Fill(manifest map[string]any, entries []Entry, values []Value) (map[string]any, []Place, error) {
	f := filler{fields: runtime.DeepCopyJSON(manifest)}
	for i, e := range entries {
		if err := f.fill(e, values[i]); err != nil {
			return nil, nil, InEntry(i, err)
		}
	}
	for _, place := range f.places {
		place.change(f.fields, f.unmarked)
	}
	return f.fields, f.places, nil
}

// filler fills a manifest. A mark stands for each value of a Secret until the end.
type filler struct {
	fields map[string]any
	hidden []any // by mark
	places []Place
}

func (f *filler) fill(e Entry, value Value) error {
	at, err := e.target(f.fields)
	if err != nil {
		return err
	}
	is := runtime.DeepCopyJSONValue(value.Is)
	if e.Token != "" {
		if is, err = textOf(is); err != nil {
			return err
		}
	}
	if value.Secret {
		f.places = append(f.places, at.place)
		is = f.marked(is)
	}
	if e.Token != "" {
		is = strings.ReplaceAll(at.value.(string), e.Token, is.(string))
	}
	put(f.fields, at.place, is)
	return nil
}

// Marks are characters of the last plane for private use, which has no meaning elsewhere.
const (
	firstMark = 0x100000
	lastMark  = 0x10fffd
)

// marked returns a value with marks instead of all texts and numbers in it.
func (f *filler) marked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = f.marked(inner)
		}
		return value
	case []any:
		for i, inner := range value {
			value[i] = f.marked(inner)
		}
		return value
	}
	f.hidden = append(f.hidden, value)
	return string(rune(min(firstMark+len(f.hidden)-1, lastMark)))
}

// unmarked returns a value with the hidden values instead of their marks.
func (f *filler) unmarked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = f.unmarked(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = f.unmarked(inner)
		}
	case string:
		return f.unmarkedText(value)
	}
	return value
}

func (f *filler) unmarkedText(text string) any {
	var out strings.Builder
	for _, r := range text {
		at := int(r) - firstMark
		switch {
		case at < 0 || at >= len(f.hidden):
			out.WriteRune(r)
		case string(r) == text:
			return runtime.DeepCopyJSONValue(f.hidden[at])
		default:
			part, err := textOf(f.hidden[at])
			if err != nil {
				part = string(r)
			}
			out.WriteString(part)
		}
	}
	return out.String()
}

// textOf returns a value as it replaces a token: text as it is, maps and lists as JSON.
func textOf(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case bool, int64, float64:
		return fmt.Sprint(value), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
