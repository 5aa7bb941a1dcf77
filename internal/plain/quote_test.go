package plain

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// A text is parsed back as it is, in a flow mapping too, and controls no terminal.
func TestYAML(t *testing.T) {
	harmful := "x\n\x1b[31m\u0085\u009b31m\u202egnp\u2028\x7f"
	require.Equal(t, `"x\n\u001b[31m\u0085\u009b31m\u202egnp\u2028\u007f"`, YAML(harmful))
	for text, isPlain := range map[string]bool{
		"web": true, "example.com/Widget": true, "a-b_c": true, "tier=data": true,
		harmful: false, "": false, "No": false, "1": false, "1e3": false, "-": false, "a: b": false, "*": false, "é": false, "a,b": false, "system:masters": false,
	} {
		var back map[string]any
		require.NoError(t, yaml.Unmarshal([]byte("{key: "+YAML(text)+"}"), &back))
		require.Equal(t, map[string]any{"key": text}, back)
		require.Equal(t, isPlain, YAML(text) == text, text)
	}
}
