package references

import "strings"

// Field walks nested maps by field names. It returns nil if the path ends early.
func Field(v any, path ...string) any {
	for _, field := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[field]
	}
	return v
}

// String returns the string at a path, or "" if it is absent or not a string.
func String(v any, path ...string) string {
	s, _ := Field(v, path...).(string)
	return s
}

// List returns the list at a path, or nil if it is absent or not a list.
func List(v any, path ...string) []any {
	l, _ := Field(v, path...).([]any)
	return l
}

// Texts returns the strings of a list field.
func Texts(v any, field string) []string {
	var out []string
	for _, item := range List(v, field) {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// SplitList parses a comma-separated list. It trims spaces and drops empty
// entries.
func SplitList(list string) []string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// stringMap returns the entries of a map whose values are strings.
func stringMap(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}
