package ordering

// FlattenErrors returns the single errors of joined ones, at any depth and in
// order; nil for nil.
func FlattenErrors(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, FlattenErrors(e)...)
		}
		return out
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
