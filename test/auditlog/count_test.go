package auditlog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	earlier := `{"stage":"ResponseComplete","verb":"get","user":{"username":"admin"}}` + "\n"
	require.NoError(t, os.WriteFile(file, []byte(earlier+
		`{"stage":"ResponseStarted","verb":"watch","user":{"username":"admin"}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"admin"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"admin"}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"admin"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"system:apiserver"}}
`), 0o600))
	count, err := Count(file, int64(len(earlier)), "admin")
	require.NoError(t, err)
	require.Equal(t, 3, count)
}
