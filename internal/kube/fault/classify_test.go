package fault

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A proxy's page instead of a Status is no answer of the API server; the bare 404 of a
// kind that is not served is one.
func TestIsUnanswered(t *testing.T) {
	printed := func(code int, body string) error {
		return apierrors.NewGenericServerResponse(code, "GET", schema.GroupResource{Group: "example.com", Resource: "things"}, "", body, 0, true)
	}
	require.True(t, IsUnanswered(fmt.Errorf("list: %w", syscall.ECONNREFUSED)))
	require.True(t, IsUnanswered(printed(http.StatusBadGateway, "<html>")))
	require.False(t, IsUnanswered(printed(http.StatusNotFound, "404 page not found")))
	require.False(t, IsUnanswered(apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a", nil)))
}
