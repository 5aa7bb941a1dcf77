package usage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/usage"
)

// A usage error has the text of its cause, and is found below other errors.
func TestError(t *testing.T) {
	for name, err := range map[string]error{
		"formatted": usage.Errorf("--filename=%s: %w", "app.yaml", fs.ErrNotExist),
		"wrapped":   usage.Wrap(fmt.Errorf("--filename=app.yaml: %w", fs.ErrNotExist)),
		"joined":    fmt.Errorf("%w", usage.Wrap(fmt.Errorf("--filename=app.yaml: %w", fs.ErrNotExist))),
	} {
		t.Run(name, func(t *testing.T) {
			require.EqualError(t, err, "--filename=app.yaml: file does not exist")
			require.ErrorIs(t, err, fs.ErrNotExist)
			var is *usage.Error
			require.ErrorAs(t, err, &is)
		})
	}
	var is *usage.Error
	require.False(t, errors.As(fs.ErrNotExist, &is), "an error of another kind is none")
}

func TestOneOf(t *testing.T) {
	for value, want := range map[string]string{
		"json": "",
		"yaml": "--output=yaml: write one of [json name]",
		"JSON": "--output=JSON: write one of [json name]",
		"":     `--output="": write one of [json name]`,
	} {
		t.Run(value, func(t *testing.T) {
			err := usage.OneOf("output", value, "json", "name")
			if want == "" {
				require.NoError(t, err)
				return
			}
			var is *usage.Error
			require.ErrorAs(t, err, &is)
			require.EqualError(t, err, want)
		})
	}
	require.NoError(t, usage.OneOf("output", "", "", "json"), "an empty value can be a choice")
}
