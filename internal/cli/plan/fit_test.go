package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// On a terminal the line of a resource is not wider than it, and a change is not cut.
func TestFit(t *testing.T) {
	text := "wave 1/1 (a name that is longer than the terminal)\n" +
		"  update     Secret shop/db  needed: before StatefulSet shop/db, which uses it\n" +
		"             spec.a.field.that.is.longer: than the terminal is wide\n" +
		"  unchanged  Job shop/a      layer: a\n"
	require.Equal(t, "wave 1/1 (a name that is longer than the terminal)\n"+
		"  update     Secret shop/db  needed: be…\n"+
		"             spec.a.field.that.is.longer: than the terminal is wide\n"+
		"  unchanged  Job shop/a      layer: a\n", fit(text, 40))
}
