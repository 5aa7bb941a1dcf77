package fn_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

const twoSecrets = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\n"

// TestLineEndsAndByteOrderMarks checks that both are removed, as by kyaml.
func TestLineEndsAndByteOrderMarks(t *testing.T) {
	function := fn.Function{Order: testOrder(t)}
	want := function.Run([]byte(twoSecrets))
	require.False(t, want.Findings.Failed())
	for name, in := range map[string]string{
		"CRLF":       strings.ReplaceAll(twoSecrets, "\n", "\r\n"),
		"BOM":        "\ufeff" + twoSecrets,
		"no newline": strings.TrimSuffix(twoSecrets, "\n"),
		"leading":    "---\n" + twoSecrets,
		"trailing":   twoSecrets + "---\n",
	} {
		require.Equal(t, string(want.Stream()), string(function.Run([]byte(in)).Stream()), name)
	}
}

// TestNeverEmptyWithSuccess uses inputs for which the output could be empty.
func TestNeverEmptyWithSuccess(t *testing.T) {
	for _, in := range []string{"", "\n", "---\n", "# nothing\n", "---\n---\n", "null\n", "~", "{}", "[]", "kind: List\nitems: []\n", "kind: List\nitems:\n"} {
		for _, out := range []fn.Output{fn.Function{Order: testOrder(t)}.Run([]byte(in)), fn.Function{}.Run([]byte(in)), fn.Strip([]byte(in)), fn.Function{Order: testOrder(t)}.Check([]byte(in))} {
			require.True(t, out.Findings.Failed() || len(out.Stream()) > 0, "%q", in)
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	out := fn.Function{Order: testOrder(t)}.Run([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: \"\xff\"}\n"))
	require.Equal(t, "error: the input is not UTF-8 text, at byte 47 in line 3\n", out.Findings.Lines())
	require.Empty(t, out.Stream())
}

// TestDeepNesting checks that the stack is not exhausted.
func TestDeepNesting(t *testing.T) {
	for _, deep := range []string{strings.Repeat("[", 200_000), "a: " + strings.Repeat("{a: ", 200_000), strings.Repeat("- ", 200_000) + "x"} {
		out := fn.Function{Order: testOrder(t)}.Run([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  " + deep + "\n"))
		require.True(t, out.Findings.Failed())
	}
}

// TestLargeStream sorts 12 MB without losing a resource.
func TestLargeStream(t *testing.T) {
	var in bytes.Buffer
	text := strings.Repeat("    some text that a ConfigMap holds, and more of it\n", 100)
	count := 0
	for in.Len() < 12<<20 {
		fmt.Fprintf(&in, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%05d\ndata:\n  text: |\n%s---\n", count, text)
		count++
	}
	out := fn.Function{Order: testOrder(t)}.Run(in.Bytes())
	require.False(t, out.Findings.Failed(), out.Findings.Lines())
	require.Equal(t, count, bytes.Count(out.Stream(), []byte("ordapply.dev/layer: platform/rest\n")))
}
