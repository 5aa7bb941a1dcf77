package fn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// A plain resource whose text no encoder would reproduce.
const oddlyPlain = `# above %[1]d
apiVersion:   v1
kind: ConfigMap   # the kind
metadata:
    name: "plain-%[1]d"
data:
    text: 'single'   # quoted
    folded: >-
        one
        two
`

// Resources with a layout that cannot be edited by lines, or with ordapply.dev/
// annotations of their author: each may be printed anew.
func oddities() map[string]string {
	return map[string]string{
		"flow":           "{apiVersion: v1, kind: ConfigMap, metadata: {name: odd}}\n",
		"flow metadata":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\n",
		"no annotations": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n  annotations: {}\n",
		"null":           "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n  annotations:\n",
		"a kind of List": "apiVersion: v1\nkind: AllowList\nmetadata:\n  name: odd\n",
		"ends with ...":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n...\n",
		"CR":             "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: odd\r\n",
		"U+2028":         "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ndata:\n  a: \"b\u2028c\"\n",
		"its own":        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n  annotations:\n    ordapply.dev/ready-when: \"self.status.phase == \\\"Ready\\\"\"\n    ordapply.dev/depends-on: >-\n      v1/ConfigMap/a\n    ordapply.dev/wait: none # why\n",
	}
}

// A resource with an odd layout does not change any byte of the others.
func TestOnlyWhatIsNotPlainIsPrintedAnew(t *testing.T) {
	order, err := sortorder.Parse([]byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: shop}\nsortOrder: [{unmatched: true, layer: all}]\n"))
	require.NoError(t, err)
	plainOne, plainTwo := fmt.Sprintf(oddlyPlain, 1), fmt.Sprintf(oddlyPlain, 2)
	for name, odd := range oddities() {
		in := strings.Join([]string{plainOne, odd, plainTwo}, "---\n")
		out := fn.Processor{Order: order}.Run([]byte(in))
		require.False(t, out.Findings.Failed(), "%s: %s", name, out.Findings.Lines())
		requireUntouched(t, name, string(out.Stream()), plainOne, plainTwo)
		if name == "its own" {
			requireUntouched(t, name, string(out.Stream()), odd)
		}
		again := fn.Processor{Order: order}.Run(out.Stream())
		require.Equal(t, string(out.Stream()), string(again.Stream()), name)
	}
}

// requireUntouched requires the lines of each text, in order, with only stamp
// lines between them.
func requireUntouched(t *testing.T, name, stream string, texts ...string) {
	var bare strings.Builder
	for line := range strings.Lines(stream) {
		word := strings.TrimSpace(line)
		stamp := strings.HasPrefix(word, "ordapply.dev/layer:") || strings.HasPrefix(word, "ordapply.dev/wave:") || strings.HasPrefix(word, "ordapply.dev/unmatched:")
		if !stamp && word != "annotations:" {
			bare.WriteString(line)
		}
	}
	for _, text := range texts {
		require.Contains(t, bare.String(), strings.ReplaceAll(text, "  annotations:\n", ""), name)
	}
}
