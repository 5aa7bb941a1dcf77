package rbac

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// A name with terminal control characters is escaped, and YAML parses it back.
func TestScalarIsHarmless(t *testing.T) {
	name := "x\n\x1b[31m\u0085\u009b31m\u202egnp\u2028\x7f"
	quoted := scalar(name)
	require.Equal(t, `"x\n\u001b[31m\u0085\u009b31m\u202egnp\u2028\u007f"`, quoted)
	var back string
	require.NoError(t, yaml.Unmarshal([]byte(quoted), &back))
	require.Equal(t, name, back)
}
