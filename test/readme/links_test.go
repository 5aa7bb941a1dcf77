package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every link on a page of this repository leads to an existing file and, with
// an anchor, to an existing heading. Links to other sites are not followed.
func TestLinksResolve(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := markdownFiles(t, root)
	require.Contains(t, pages, filepath.Join(root, "README.md"))
	for _, page := range pages {
		for _, link := range links(readPage(t, page)) {
			path, anchor, _ := strings.Cut(link, "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s links to %s", page, link) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(readPage(t, target)), anchor, "%s links to %s", page, link)
		}
	}
}

// docs/README.md links to every page of docs, once.
func TestIndexListsEveryPage(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	index := filepath.Join(docs, "README.md")
	var listed []string
	for _, link := range links(readPage(t, index)) {
		if filepath.Ext(link) == ".md" && !strings.HasPrefix(link, "..") {
			listed = append(listed, link)
		}
	}
	var pages []string
	for _, page := range markdownFiles(t, docs) {
		if page != index {
			name, err := filepath.Rel(docs, page)
			require.NoError(t, err)
			pages = append(pages, filepath.ToSlash(name))
		}
	}
	slices.Sort(listed)
	require.Equal(t, pages, listed)
}

// Anchors are made from headings as GitHub makes them.
func TestAnchors(t *testing.T) {
	page := "# What `-v` logs\n```sh\n# a comment\n```\n## A_b, c & d?\n## A_b, c & d?\n### [Linked](x.md) (v1.2)\n"
	require.Equal(t, []string{"what--v-logs", "a_b-c--d", "a_b-c--d-1", "linked-v12"}, anchors(page))
}

// markdownFiles returns the Markdown files below a folder, in order, without leftovers of
// builds and tools.
func markdownFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && path != folder
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "bin"):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".md":
			files = append(files, path)
		}
		return nil
	}))
	return files
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// links returns the targets of a page's links, without links in code.
func links(page string) []string {
	var targets []string
	text := regexp.MustCompile("`[^`]*`").ReplaceAllString(withoutCode(page), "``")
	for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
		targets = append(targets, link[1])
	}
	return targets
}

// anchors returns the link anchors of a page's headings.
func anchors(page string) []string {
	var names []string
	seen := map[string]int{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading[1], "$1")
		name := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(strings.ToLower(text), "")
		name = strings.ReplaceAll(name, " ", "-")
		seen[name]++
		if earlier := seen[name] - 1; earlier > 0 {
			name += "-" + strconv.Itoa(earlier)
		}
		names = append(names, name)
	}
	return names
}

// withoutCode removes the code blocks of a page.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
}
