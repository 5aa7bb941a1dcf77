package fn_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/corpora"
)

// FuzzStream checks the function's invariants on arbitrary bytes.
func FuzzStream(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(requireInvariants)
}

// FuzzOddLines edits real resources line by line: edits is a list of triples,
// operation, position, and odd line. wrap puts the result into a ResourceList.
func FuzzOddLines(f *testing.F) {
	documents := pieces(f)
	random := rand.New(rand.NewPCG(9, 10))
	for i := range 200 {
		f.Add(uint16(random.IntN(len(documents))), randomEdits(random, i%5), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, which uint16, edits []byte, wrap bool) {
		requireInvariants(t, edited(documents[int(which)%len(documents)], edits, wrap))
	})
}

// TestOddLines runs FuzzOddLines a fixed number of times.
func TestOddLines(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 1_000
	}
	documents := pieces(t)
	random := rand.New(rand.NewPCG(11, 12))
	for range rounds {
		requireInvariants(t, edited(documents[random.IntN(len(documents))], randomEdits(random, 1+random.IntN(4)), random.IntN(2) == 0))
	}
}

func randomEdits(random *rand.Rand, n int) []byte {
	var out []byte
	for range n {
		out = append(out, byte(random.IntN(256)))
		out = binary.BigEndian.AppendUint16(out, uint16(random.IntN(1<<16)))
		out = append(out, byte(random.IntN(256)))
	}
	return out
}

// edited applies edits of four bytes each: operation, position (two bytes), and
// line.
func edited(document string, edits []byte, wrap bool) []byte {
	if wrap {
		document = wrapped(document)
	}
	lines := strings.SplitAfter(document, "\n")
	for ; len(edits) >= 4; edits = edits[4:] {
		at := int(binary.BigEndian.Uint16(edits[1:])) % len(lines)
		odd := oddLines()[int(edits[3])%len(oddLines())]
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
		switch edits[0] % 8 {
		case 0, 1, 2:
			lines = append(lines[:at], append([]string{indent + odd + "\n"}, lines[at:]...)...)
		case 3:
			lines = append(lines[:at], append([]string{odd + "\n"}, lines[at:]...)...)
		case 4:
			lines[at] = strings.TrimSuffix(lines[at], "\n") + " " + odd + "\n"
		case 5:
			lines = append(lines[:at], append([]string{lines[at]}, lines[at:]...)...)
		case 6:
			lines[at] = " " + lines[at]
		case 7:
			lines[at] = strings.Replace(lines[at], ": ", ": "+odd+" ", 1)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// wrapped converts the documents to items.
func wrapped(stream string) string {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for document := range strings.SplitSeq(stream, "\n---\n") {
		for i, line := range strings.Split(strings.TrimSuffix(document, "\n"), "\n") {
			prefix := "  "
			if i == 0 {
				prefix = "- "
			}
			b.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
		}
	}
	b.WriteString("functionConfig:\n  apiVersion: ordapply.dev/v1alpha1\n  kind: SortOrder\n  metadata:\n    name: platform\n  sortOrder:\n  - kind: Service\n")
	return b.String()
}

// oddLines returns lines that line-based parsers get wrong.
func oddLines() []string {
	return []string{
		"---", "...", "--- # x", "---x", "# comment", "", "  ", "\t", "%YAML 1.2", "- ", "- x", "? a", ": b", "<<: *a", "&a", "*a",
		"a: &a b", "a: *a", "!!str", "!foo", "{}", "[]", "{a: b}", "{a: }", "[a, b]", "|", ">", "|+", "|2", "'", "\"", "'a", "a: 'b",
		"a: \"b\\", "null", "~", "a:", "a: b", "a : b", "a:b", "\"a\": b", "'metadata':", "metadata:", "metadata: {}", "metadata: null",
		"annotations:", "annotations: {}", "annotations: {tier: x}", "annotations: null", "annotations: *a", "labels: {a: b}", "tier: x",
		"name: x", "name: 5", "name: [a]", "kind: Service", "kind: List", "kind: ResourceList", "apiVersion: v1", "apiVersion: 1", "items:",
		"items: []", "items: null", "generateName: x-", "namespace: y", "ordapply.dev/layer: platform/old", "ordapply.dev/wave: \"7\"",
		"ordapply.dev/layer: base/db", "ordapply.dev/gate: applied", "\u00a0", "\u2028", "\u0085", "\ufeff", "\r", "é: ü", "\x00", "@", "`", "a: |",
		"## START layer: platform/x", "## END layer: platform/x", "functionConfig:", "results: []", "-", "--", "a: !!binary aGk=", "on: off",
	}
}

// seeds returns the inputs of the run tests and parts of real streams.
func seeds(t testing.TB) [][]byte {
	files, err := filepath.Glob("testdata/run/*.txtar")
	require.NoError(t, err)
	var out [][]byte
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, f := range archive.Files {
			if f.Name == "in" && !strings.Contains(file, "bomb") && !strings.Contains(file, "emit") {
				out = append(out, f.Data)
			}
		}
	}
	for _, piece := range pieces(t) {
		out = append(out, []byte(piece), []byte(wrapped(piece)))
	}
	return out
}

// pieces returns pairs of small documents from real streams, or generated ones
// if there are none.
func pieces(t testing.TB) []string {
	var files []string
	if dir, err := corpora.Dir(); err == nil {
		files, err = filepath.Glob(filepath.Join(dir, "*.yaml"))
		require.NoError(t, err)
	}
	out := []string{"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations:\n    tier: web\nspec:\n  ports:\n  - port: 80\n" +
		"---\n# a comment\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n  labels: {a: b}\ndata: {}\n"}
	for _, file := range files {
		stream, err := os.ReadFile(file)
		require.NoError(t, err)
		documents := bytes.Split(stream, []byte("\n---\n"))
		for i := 0; i+1 < len(documents); i += 7 {
			if len(documents[i])+len(documents[i+1]) < 3_000 {
				out = append(out, string(documents[i])+"\n---\n"+string(documents[i+1])+"\n")
			}
		}
	}
	return out
}
