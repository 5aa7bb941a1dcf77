package ordering

// at walks nested maps by field names. It returns nil if the path ends early.
func at(v any, path ...string) any {
	for _, field := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[field]
	}
	return v
}

// str returns the string at a path, or "" if it is absent or not a string.
func str(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// list returns the list at a path, or nil if it is absent or not a list.
func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)
	return l
}
