package report

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// A run that only prepares starts no trace: nothing would end it.
func TestPreparationsLeaveNoTrace(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	cmd := &cobra.Command{Use: "apply"}
	cmd.SetContext(OnlyPreparing(t.Context()))
	files, err := OpenFiles(cmd, ViewFlags{}, nil)
	require.NoError(t, err)
	require.Nil(t, files.trace)

	cmd.SetContext(t.Context())
	files, err = OpenFiles(cmd, ViewFlags{}, nil)
	require.NoError(t, err)
	require.NotNil(t, files.trace)
	_ = files.trace.End(nil) // there is no collector
}
