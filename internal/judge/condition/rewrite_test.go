package condition_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/judge/condition"
)

func TestWithoutSelf(t *testing.T) {
	for source, want := range map[string]string{
		`self.status.phase == "self.status"`:         `status.phase == "self.status"`,
		`self.?status.?n.orValue(1) > self . spec.n`: `optional.of(status).?n.orValue(1) > spec.n`,
		`self.status.conditions.exists(c, c.type == "ä" && self.metadata.generation == c.observedGeneration)`: `status.conditions.exists(c, c.type == "ä" && metadata.generation == c.observedGeneration)`,
		`has(self.status.phase)`:   `has(status.phase)`,
		`"é" != self.status.phase`: `"é" != status.phase`,
		`true`:                     `true`,
	} {
		got, err := condition.WithoutSelf(source)
		require.NoError(t, err, source)
		require.Equal(t, want, got)
	}
	for _, source := range []string{`self["status"].phase == "Up"`, `size(self) > 1`, `self.status.`} {
		_, err := condition.WithoutSelf(source)
		require.Error(t, err, source)
	}
}

// A guarded condition means the same as the original to Holds: a missing field is no error.
func TestGuarded(t *testing.T) {
	source := `self.status.phase == "Broken" || self.status.conditions.exists(c, c.type == "Failed" && c.status == "True")`
	guarded, err := condition.Guarded(source)
	require.NoError(t, err)
	require.Equal(t, `has(status.conditions) && has(status.phase) && (status.phase == "Broken" || status.conditions.exists(c, c.type == "Failed" && c.status == "True"))`, guarded)
	env, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings())
	require.NoError(t, err)
	tree, issues := env.Parse(guarded) // as Flux does: without declared variables
	require.NoError(t, issues.Err())
	program, err := env.Program(tree)
	require.NoError(t, err)
	for status, want := range map[*map[string]any]bool{
		{}:                  false,
		{"phase": "Broken"}: false,
		{"phase": "Broken", "conditions": []any{}}:                                               true,
		{"phase": "Up", "conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}: true,
	} {
		got, _, err := program.Eval(map[string]any{"status": *status})
		require.NoError(t, err)
		require.Equal(t, want, got.Value(), *status)
	}
}

func TestAnyOf(t *testing.T) {
	require.Empty(t, condition.AnyOf("", ""))
	require.Equal(t, "a", condition.AnyOf("", "a"))
	require.Equal(t, "(a) || (b)", condition.AnyOf("a", "", "b"))
}

func TestCheckForFlux(t *testing.T) {
	require.NoError(t, condition.CheckForFlux(`self.status.phase.lowerAscii() in ["up"]`))
	require.ErrorContains(t, condition.CheckForFlux(`self.status.list.distinct().size() > 1`), "distinct")
}
