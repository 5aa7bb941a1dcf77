package connect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// An API server that begins an answer and does not end it in time is reported as
// one that does not answer.
func TestAnAnswerThatDoesNotEnd(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush()
		<-ended
	}))
	defer server.Close()
	defer close(ended)
	flags := genericclioptions.NewConfigFlags(true)
	limit := "100ms"
	flags.APIServer, flags.Timeout = &server.URL, &limit
	_, err := To(t.Context(), console.New(nil, io.Discard, io.Discard), flags)
	require.ErrorContains(t, err, "does not answer in time: check that it is up and not overloaded")
}
