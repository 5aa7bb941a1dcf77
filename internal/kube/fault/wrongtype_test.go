package fault

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The error for a value of the wrong type has its path and the expected type,
// and no Go syntax; the inputs are the server's messages.
func TestExplainWrongTypes(t *testing.T) {
	typed := func(faults string) string {
		return "failed to create typed patch object (default/wrong; apps/v1, Kind=Deployment): " + faults
	}
	const convert = "failed to convert new object (default/wrong; apps/v1, Kind=Deployment) to proper version: unable to convert unstructured object to apps/v1, Kind=Deployment: "
	for name, c := range map[string]struct{ text, says string }{
		"a text for a number": {typed(".spec.replicas: expected numeric (int or float), got string"), "spec.replicas must be a number, got a string"},
		"a map for a list":    {typed(".spec.template.spec.containers: expected list, got &{map[image:c name:c]}"), "spec.template.spec.containers must be a list, got a map"},
		"a list for a map":    {typed(".data: expected map, got &{[a b]}"), "data must be a map, got a list"},
		"several": {typed(`errors:
  .spec.template.spec.containers[name="c"].command: expected list, got &{run}
  .spec.template.spec.containers[name="c"].env[name="A"].value: expected string, got &value.valueUnstructured{Value:1}
  .spec.template.spec.containers[name="c"].tty: expected boolean, got &{yes}
  .spec.tamplate: field not declared in schema
`), `spec.tamplate is not a field of its kind; spec.template.spec.containers[name="c"].command must be a list, got "run"; ` +
			`spec.template.spec.containers[name="c"].env[name="A"].value must be a string, got 1 as YAML reads it: quote the value; ` +
			`spec.template.spec.containers[name="c"].tty must be true or false, got "yes"`},
		"of a Secret": {typed(".data.a: expected string, got another type"), "data.a must be a string, got another type"},
		"a fraction":  {convert + "cannot convert float64 to int32", "a fraction where an integer is required; the API server does not name the field"},
	} {
		t.Run(name, func(t *testing.T) {
			err := status(500, "", c.text)
			require.EqualError(t, Explain(err), "the manifest has values of the wrong type: "+c.says)
			require.ErrorIs(t, Explain(err), err)
		})
	}
	for _, other := range []string{typed(".spec.tamplate: field not declared in schema"), typed("something new"), convert + "something new"} {
		require.Contains(t, Explain(status(500, "", other)).Error(), other)
	}
}
