package ordering_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
)

func TestFlattenErrors(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	require.Nil(t, ordering.FlattenErrors(nil))
	require.Equal(t, []error{a}, ordering.FlattenErrors(a))
	require.Equal(t, []error{a, b, c}, ordering.FlattenErrors(errors.Join(a, errors.Join(b, nil, c))))
	require.Equal(t, []error{a, b}, ordering.FlattenErrors(fmt.Errorf("%w", errors.Join(a, b))), "a wrapper without a text of its own")
	typed := transparent{a}
	require.Equal(t, []error{typed}, ordering.FlattenErrors(typed), "a wrapper of a single error")
	own := fmt.Errorf("%w, after %w", a, b)
	require.Equal(t, []error{own, c}, ordering.FlattenErrors(errors.Join(own, c)), "an error with a text of its own")
}

// transparent has the text of the error that it wraps.
type transparent struct{ error }

func (e transparent) Unwrap() error { return e.error }
