package input

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/sortorder"
)

// A file of HealthRules has the same fields as the health rules of an order, as
// docs/files.md says.
func TestHealthRulesHaveTheSameFields(t *testing.T) {
	var schema struct {
		Properties struct {
			Health struct {
				Items struct{ Properties map[string]any }
			}
		}
	}
	require.NoError(t, json.Unmarshal(sortorder.Schema(), &schema))
	require.Contains(t, schema.Properties.Health.Items.Properties, "readyWhen")
	file := "apiVersion: ordapply.dev/v1alpha1\nkind: HealthRules\nrules:\n- {kind: Widget"
	for name := range schema.Properties.Health.Items.Properties {
		if name != "kind" {
			file += fmt.Sprintf(", %s: 'true'", name)
		}
	}
	_, err := health.ParseRules([]byte(file + "}\n"))
	require.NoError(t, err)
	_, err = health.ParseRules([]byte(file + ", other: 'true'}\n"))
	require.ErrorContains(t, err, "other")
}
