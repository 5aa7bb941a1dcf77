package architecture

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The picture of ARCHITECTURE.md is the import table. `make golden` updates it.
func TestPicture(t *testing.T) {
	const begin, end = "<!-- packages: made by make golden -->\n", "<!-- end of packages -->"
	file := filepath.Join("..", "..", "ARCHITECTURE.md")
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok, "the page has no line %s", begin)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "the page has no %s", end)
	wanted := head + begin + "```\n" + picture() + "```\n" + end + tail
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(wanted), 0o644))
		return
	}
	require.Equal(t, wanted, string(page), "the picture is not what importTable says: run make golden")
}

// The names of the picture, which are without internal/ and internal/test/, are unique.
func TestPictureNamesAreUnique(t *testing.T) {
	paths := map[string]string{}
	for _, tier := range importTable() {
		for _, row := range tier.packages {
			name := path.Base(row.path)
			if len(row.path) > len("internal/") && row.path != "cmd/"+name {
				require.Empty(t, paths[name], "%s and %s have one name in the picture", row.path, paths[name])
			}
			paths[name] = row.path
		}
	}
}

// pictureWidth is the number of columns of the picture.
const pictureWidth = 92

// picture is the import table as text: a line for each package, and what it uses below.
func picture() string {
	var b strings.Builder
	for n, tier := range importTable() {
		if n > 0 {
			b.WriteString("\n")
		}
		b.WriteString(tier.title + "\n")
		for _, row := range tier.packages {
			width := 26
			if isTest(row.path) {
				width = 32
			}
			fmt.Fprintf(&b, "  %-*s%s\n", width, row.path, row.purpose)
			line := "      uses"
			for i, used := range topDown(row.uses) {
				word := " " + strings.TrimPrefix(strings.TrimPrefix(used, "internal/"), "test/")
				if i < len(row.uses)-1 {
					word += ","
				}
				if len(line)+len(word) > pictureWidth {
					b.WriteString(line + "\n")
					line = "          "
				}
				line += word
			}
			if len(row.uses) > 0 {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

// topDown orders packages as the table does.
func topDown(packages []string) []string {
	var all []string
	for _, tier := range importTable() {
		for _, row := range tier.packages {
			if slices.Contains(packages, row.path) {
				all = append(all, row.path)
			}
		}
	}
	return all
}
