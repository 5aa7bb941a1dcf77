package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/operation/option"
)

// A run that only prepares has no files, and so starts no trace: nothing would end it.
func TestARunHasATrace(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	files, err := OpenFiles(t.Context(), "ordapply apply", option.View{}, nil)
	require.NoError(t, err)
	require.NotNil(t, files.trace)
	_ = files.trace.End(nil) // there is no collector
	require.Nil(t, (&Files{}).trace)
}
