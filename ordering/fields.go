package ordering

// at walks maps by field names; nil where the path ends early.
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

// str is the string at a path, "" when it is absent or something else.
func str(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// list is the list at a path, nil when it is absent or something else.
func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)
	return l
}
