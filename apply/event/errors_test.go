package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
)

// The message of a timeout names its setting.
func TestTimeoutsNameTheirSetting(t *testing.T) {
	for scope, text := range map[string]string{
		"resource":       "not ready after 30s (its timeout annotation): pending",
		"kind":           "not ready after 30s (timeouts in the order): pending",
		"CRD":            "not ready after 30s without progress of any CustomResourceDefinition (--crd-timeout): pending",
		"wave":           "not ready after 30s (--wave-timeout): pending",
		"run":            "not ready after 30s (--timeout): pending",
		"layer app/data": "not ready after 30s (timeout of layer app/data): pending",
	} {
		require.EqualError(t, &event.TimeoutError{After: 30 * time.Second, Scope: scope, Last: "pending"}, text)
	}
}
