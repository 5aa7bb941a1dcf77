package architecture

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// errorTexts are how many assertions of a package's tests compare the text of an error. A
// number here goes down and never up: tests of behaviour compare types, codes and states.
func errorTexts() map[string]int {
	return map[string]int{
		"apply":             10,
		"internal/history":  9, // of revisions that are missing, damaged or too new
		"internal/outfile":  5, // of files that cannot be written
		"internal/plandiff": 4, // of plan files that are refused
		"manifest":          9, // of malformed manifests
		"state":             14,
	}
}

// Tests compare the text of errors only where the text is the subject. With -v the numbers
// are printed.
func TestErrorTexts(t *testing.T) {
	pattern := regexp.MustCompile(`require\.(EqualError|ErrorContains)\(|require\.Contains\(t, (err|failure)\.Error\(\)|require\.Equal\(t, [^\n]*\.Error\(\)`)
	counts := map[string]int{}
	for _, s := range sources(t) {
		if n := len(pattern.FindAllString(s.text, -1)); s.test && n > 0 {
			counts[s.pkg] += n
		}
	}
	total := 0
	for _, pkg := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%3d %s", counts[pkg], pkg)
		total += counts[pkg]
		assert.LessOrEqual(t, counts[pkg], max(errorTexts()[pkg], 3), "%s: assertions on the text of errors; compare types and codes (CONTRIBUTING.md)", pkg)
	}
	t.Logf("%3d in all", total)
}
