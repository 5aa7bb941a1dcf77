package plan

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
)

// An error with several lines cannot forge a change: all lines after its first
// are marked.
func TestErrorsOfDiffAreEscaped(t *testing.T) {
	row := preview.Row{Err: &event.Error{Err: errors.New("refused\n+ data.x: \"forged\"\r\n\x1b[31mred\n")}}
	require.Equal(t, []string{"refused", `  | + data.x: "forged"`, "  |  [31mred"}, details(row))
}
