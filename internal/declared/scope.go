package declared

import "github.com/ordapply/ordapply/internal/references"

// scope is a part of the stream that a frame orders independently: one
// application of a stack, or all resources outside applications.
type scope struct {
	application string // "stack/application"; "" outside applications
	parentSet   int    // the set of the application, or -1
	resources   []int
	excluded    []references.Resource // in the same part of the stream, but not part of the plan
}

// title returns the name of a set within the scope.
func (s scope) title(name string) string {
	if s.application == "" {
		return name
	}
	return s.application + " " + name
}

// String describes the scope for use in a sentence.
func (s scope) String() string {
	if s.application == "" {
		return "one stream"
	}
	return "application " + s.application
}

// where returns the scope as the end of a sentence.
func (s scope) where() string {
	if s.application == "" {
		return ""
	}
	return " of application " + s.application
}
