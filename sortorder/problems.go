package sortorder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/text/strict"
)

// Problem is an error in a SortOrder: its field and the remedy.
type Problem struct {
	Path    string // such as sortOrder[1].matchAnnotations; "" for the whole object
	Message string // continues the path: "is empty: name at least one annotation"
}

// String returns "path: message", or only the message without a path.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems are all errors in a SortOrder.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each problem as an error.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = errors.New(p.String())
	}
	return errs
}

// add adds a problem, unless it follows from one of the field at path or below.
func (ps *Problems) add(path, format string, args ...any) {
	if path != "" && ps.under(path) {
		return
	}
	*ps = append(*ps, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// under reports whether there is a problem at the path or below it.
func (ps Problems) under(path string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return strict.IsUnder(p.Path, path) })
}

// asError returns the list as an error, or nil if it is empty.
func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
