package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/dev/seeds.md is correct: its rows are numbered without gaps, and every
// requirement has an existing test, or a reason why it differs.
func TestSeedsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "dev", "seeds.md"))
	require.NoError(t, err)
	runners := testRunners(t, string(text))
	rows := map[string]int{}
	document := ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			document = strings.TrimSpace(heading)
		}
		if !regexp.MustCompile(`^\| \d+ \|`).MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		require.Len(t, cells, 5, line)
		rows[document]++
		require.Equal(t, strconv.Itoa(rows[document]), strings.TrimSpace(cells[0]), "rows of %s", document)
		requireTests(t, runners, cells[3], cells[4])
	}
	require.Equal(t, map[string]int{
		"KubeVela KEP-0005, Resource Dispatch Ordering": 46,
		"kustomize, resource ordering KEP":              33,
		"Helm HIP-0025, resource sequencing":            46,
		"k8sconnect ADR-007, CRD dependencies":          20,
		"RFC-DEPLOY-0001 §5, orchestration mechanics":   33,
	}, rows)
}

// testRunners returns the test functions that run the files of a folder, from
// the page's first table, without the part of the command that names the file.
func testRunners(t *testing.T, page string) map[string]string {
	t.Helper()
	runners := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w/]+)/NAME(?:\\.txtar)?` \\| `go test \\./([\\w/]+) -run '(Test\\w+)/NAME\\$'` \\|$").FindAllStringSubmatch(page, -1) {
		require.True(t, hasFunc(t, row[2], row[3]), "package %s has no %s", row[2], row[3])
		runners[row[1]] = row[3]
	}
	require.NotEmpty(t, runners)
	return runners
}

// requireTests checks the tests of a row. A row whose third cell explains a
// difference needs none.
func requireTests(t *testing.T, runners map[string]string, here, shown string) {
	t.Helper()
	links := regexp.MustCompile(`\[([\w-]+)\]\(\.\./\.\./([^)]+)\)`).FindAllStringSubmatch(shown, -1)
	if len(links) == 0 {
		require.Regexp(t, `^differs: .{20}`, here, "neither a test nor a reason")
	}
	for _, link := range links {
		name, path := link[1], link[2]
		if !strings.HasSuffix(path, "_test.go") {
			require.Equal(t, name, strings.TrimSuffix(filepath.Base(path), ".txtar"))
			require.Contains(t, runners, filepath.Dir(path), "the page does not say what runs %s", path)
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		require.NoError(t, err)
		require.Contains(t, string(text), "func "+name+"(", path)
	}
}

func hasFunc(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
