package ordering

import (
	"errors"
	"strings"
)

// FlattenErrors returns the single errors of joined ones, at any depth and in order; nil for
// nil. An error with a text of its own is kept whole.
func FlattenErrors(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		var texts []string
		for _, one := range joined.Unwrap() {
			all = append(all, FlattenErrors(one)...)
			texts = append(texts, one.Error())
		}
		if strings.Join(texts, "\n") == err.Error() {
			return all
		}
	}
	if inner := errors.Unwrap(err); inner != nil && inner.Error() == err.Error() {
		if all := FlattenErrors(inner); len(all) > 1 {
			return all
		}
	}
	return []error{err}
}
