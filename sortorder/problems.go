package sortorder

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one fault of a SortOrder: the field it is in and what to do.
type Problem struct {
	Path    string // such as sortOrder[1].matchAnnotations; "" for the whole object
	Message string
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems are all faults of a SortOrder, in the order of its fields. As an
// error they print one a line.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault as an error of its own.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = errors.New(p.String())
	}
	return errs
}

// add notes a fault, unless the field at path or one below it has one already:
// then what follows is its consequence.
func (ps *Problems) add(path, format string, args ...any) {
	if path != "" && ps.under(path) {
		return
	}
	*ps = append(*ps, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// under tells whether a fault was found at the path or in a field below it.
func (ps Problems) under(path string) bool {
	for _, p := range ps {
		if rest, ok := strings.CutPrefix(p.Path, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// asError is the list as an error, nil when it is empty.
func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
