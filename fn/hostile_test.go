package fn_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

const twoSecrets = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\n"

// TestLineEndsAndByteOrderMarks checks that both are removed, as by kyaml.
func TestLineEndsAndByteOrderMarks(t *testing.T) {
	function := fn.Processor{Order: testOrder(t)}
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

// A block scalar at the end of a stream has its last newline, as kubectl and Helm read it, also
// where its document is printed before others.
func TestBlockScalarWithoutItsNewline(t *testing.T) {
	function := fn.Processor{Order: testOrder(t)}
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n"
	for name, stream := range map[string]string{
		"alone":      secret + "stringData:\n  key: |\n    hello\n",
		"goes first": secret + "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations:\n    text: |\n      hello\n",
		"flow":       secret + "---\n{apiVersion: v1, kind: Service, metadata: {name: a}}\n",
	} {
		want := function.Run([]byte(stream))
		require.False(t, want.Findings.Failed())
		require.Equal(t, string(want.Stream()), string(function.Run([]byte(strings.TrimSuffix(stream, "\n"))).Stream()), name)
	}
}

// TestNeverEmptyWithSuccess uses inputs for which the output could be empty.
func TestNeverEmptyWithSuccess(t *testing.T) {
	for _, in := range []string{"", "\n", "---\n", "# nothing\n", "---\n---\n", "null\n", "~", "{}", "[]", "kind: List\nitems: []\n", "kind: List\nitems:\n"} {
		for _, out := range []fn.Output{fn.Processor{Order: testOrder(t)}.Run([]byte(in)), fn.Processor{}.Run([]byte(in)), fn.Strip([]byte(in)), fn.Processor{Order: testOrder(t)}.Check([]byte(in))} {
			require.True(t, out.Findings.Failed() || len(out.Stream()) > 0, "%q", in)
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	out := fn.Processor{Order: testOrder(t)}.Run([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: \"\xff\"}\n"))
	require.Equal(t, "error: the input is not UTF-8 text, at byte 47 in line 3\n", out.Findings.Lines())
	require.Empty(t, out.Stream())
}

// TestDeepNesting checks that the stack is not exhausted.
func TestDeepNesting(t *testing.T) {
	for _, deep := range []string{strings.Repeat("[", 200_000), "a: " + strings.Repeat("{a: ", 200_000), strings.Repeat("- ", 200_000) + "x"} {
		out := fn.Processor{Order: testOrder(t)}.Run([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  " + deep + "\n"))
		require.True(t, out.Findings.Failed())
	}
}

// TestListsInsideOneAnother checks that the time does not grow with the square of the depth.
func TestListsInsideOneAnother(t *testing.T) {
	lists := func(depth int) []byte {
		return []byte(strings.Repeat("{apiVersion: v1, kind: List, items: [", depth) + "{apiVersion: v1, kind: Secret, metadata: {name: a}}" + strings.Repeat("]}", depth) + "\n")
	}
	require.Contains(t, string(fn.Processor{Order: testOrder(t)}.Run(lists(10)).Stream()), "kind: Secret")
	for _, depth := range []int{11, 3000} {
		started := time.Now()
		out := fn.Processor{Order: testOrder(t)}.Run(lists(depth))
		require.Contains(t, out.Findings.Lines(), "more than 10 Lists are inside one another: put their items in one List")
		require.Less(t, time.Since(started), 10*time.Second)
	}
}

// TestAliasesOfAStream checks that documents whose aliases are within their limit may not
// have any number of them, in each form of input.
func TestAliasesOfAStream(t *testing.T) {
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: a\nm: *m\ndata:\n  k: &s " + strings.Repeat("s", 100_000) + "\n"
	for i := range 150 {
		one += fmt.Sprintf("  k%d: *s\n", i)
	}
	item := "- " + strings.ReplaceAll(strings.TrimSuffix(one, "\n"), "\n", "\n  ") + "\n"
	for name, in := range map[string]string{
		"documents":   strings.Repeat(one+"---\n", 10),
		"CRLF":        strings.ReplaceAll(strings.Repeat(one+"---\n", 10), "\n", "\r\n"),
		"odd breaks":  strings.Repeat("# \u2028\n"+one+"---\n", 10),
		"an odd list": "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat(item, 10),
		"a list":      "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + strings.Repeat(item, 10),
	} {
		out := fn.Processor{Order: testOrder(t)}.Run([]byte(in))
		require.Regexp(t, "expand to more than (16|64) MiB", out.Findings.Lines(), name)
	}
	require.False(t, fn.Processor{Order: testOrder(t)}.Run([]byte(one)).Findings.Failed())
}

// TestDeepAliases checks that aliases in deep documents are expanded at once or not at all.
func TestDeepAliases(t *testing.T) {
	chain := "a0: &a0 {a: 1}\n"
	for i := range 80 {
		chain += fmt.Sprintf("a%d: &a%d {a: {a: {a: *a%d}}}\n", i+1, i+1, i)
	}
	for _, deep := range []string{
		chain,
		"y: &y b\nz: *y\nx: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000) + "\n",
	} {
		started := time.Now()
		out := fn.Processor{Order: testOrder(t)}.Run([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + deep))
		require.Contains(t, out.Findings.Lines(), "its aliases expand to more than 200 levels")
		require.Less(t, time.Since(started), 10*time.Second)
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
	out := fn.Processor{Order: testOrder(t)}.Run(in.Bytes())
	require.False(t, out.Findings.Failed(), out.Findings.Lines())
	require.Equal(t, count, bytes.Count(out.Stream(), []byte("ordapply.dev/layer: platform/rest\n")))
}
