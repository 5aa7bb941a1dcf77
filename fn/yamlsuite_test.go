package fn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/test/yamlsuite"
)

// yamlDifferences are the reasons for which the function takes a stream that kyaml refuses, or
// refuses one that kyaml takes.
var yamlDifferences = map[string]func(stream, message string) bool{
	// KRM functions process resources.
	"kyaml takes any document": func(_, message string) bool {
		return strings.Contains(message, "is not a resource") || strings.Contains(message, "contains no resources")
	},
	// It parses up to the end of the first document between two lines "---".
	"kyaml loses faulty text after a document": func(stream, message string) bool {
		return strings.Contains(message, "not YAML") && slices.ContainsFunc(strings.Split(stream, "\n---\n"), func(part string) bool {
			_, err := decodeAll([]byte(part))
			return err != nil
		})
	},
	// An error is better than a changed value.
	"kyaml prints another value": func(_, message string) bool { return strings.Contains(message, "the YAML printer would change it") },
	// YAML 1.1 and 1.2 are the same for manifests.
	"kyaml refuses a version directive": func(stream, message string) bool {
		return strings.Contains(stream, "%YAML") && message == ""
	},
}

// TestYAMLSuite checks the invariants on the inputs of the YAML test suite, in several places of
// a stream, and that every difference to kyaml has a reason.
func TestYAMLSuite(t *testing.T) {
	met, accepted := map[string]int{}, 0
	for name, stream := range yamlsuite.Streams() {
		requireInvariants(t, []byte(stream))
		function := fn.Processor{Order: testOrder(t)}
		if kindIsList([]byte(stream)) {
			function = fn.Processor{}
		}
		out := function.Run([]byte(stream))
		_, err := kyamlRead([]byte(stream))
		if out.Findings.Failed() == (err != nil) {
			if err == nil {
				accepted++
			}
			continue
		}
		message := ""
		if out.Findings.Failed() {
			message = out.Findings.Lines()
		}
		found := ""
		for reason, holds := range yamlDifferences {
			if holds(stream, message) {
				found = reason
			}
		}
		require.NotEmpty(t, found, "%s: kyaml: %v; sortorder: %s\n%s", name, err, message, stream)
		met[found]++
	}
	require.Len(t, met, len(yamlDifferences), "a reason without a case")
	require.Greater(t, accepted, 700)
}

// A version directive is dropped; any other text in its place is refused, as by kyaml.
func TestVersionDirective(t *testing.T) {
	for directive, taken := range map[string]bool{
		"%YAML 1.1": true, "%YAML 1.2": true, "%YAML  1.2 \t# comment": true,
		"%YAML 2.0": false, "%YAML 1.2 foo": false, "%YAML 1.1#x": false, "%YAML 1.": false, "%YAMLL 1.1": false, "%TAG ! a": false,
	} {
		stream := directive + "\n---\n" + twoSecrets
		out := fn.Processor{Order: testOrder(t)}.Run([]byte(stream))
		require.Equal(t, taken, !out.Findings.Failed(), directive)
		require.Equal(t, taken, len(out.Stream()) > 0, directive)
	}
}
