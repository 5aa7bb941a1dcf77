// Package usage has the error of a wrong command line, for which a program exits with
// code 2:
//
//	return usage.Errorf("--into=%d: must be at least 1", n)
package usage

import (
	"cmp"
	"fmt"
	"slices"
)

// Error is an error in the command line.
type Error struct{ err error }

// Error returns the text of the cause.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Errorf formats a usage error as fmt.Errorf does.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...)}
}

// Wrap makes a usage error of an error, with the same text.
func Wrap(err error) error { return &Error{err} }

// OneOf returns a usage error if the value of a flag is not one of the choices.
func OneOf(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return Errorf("--%s=%s: write one of %v", flag, cmp.Or(value, `""`), choices)
}
