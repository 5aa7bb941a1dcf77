package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
)

// A message of several lines forges no change: all after its first are marked.
func TestAnErrorForgesNoChange(t *testing.T) {
	row := apply.Row{Err: &apply.Error{Err: errors.New("refused\n+ data.x: \"forged\"\r\n\x1b[31mred\n")}}
	require.Equal(t, []string{"refused", `  | + data.x: "forged"`, "  |  [31mred"}, details(row))
}
