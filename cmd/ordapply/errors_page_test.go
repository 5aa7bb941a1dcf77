package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every message in docs/errors.md is one of ours: its parts between the … stand in one line
// of the programs, or of a script.
func TestErrorsPageIsShown(t *testing.T) {
	lines := messageLines(t)
	rows := tableRows(t, "errors.md")
	require.Greater(t, len(rows), 50)
	for _, cells := range rows {
		messages := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1)
		require.NotEmpty(t, messages, "no message: %s", cells[0])
		for _, message := range messages {
			isOurs := slices.ContainsFunc(lines, func(line string) bool { return hasParts(line, message[1]) })
			assert.True(t, isOurs, "no program prints: %s", message[1])
		}
	}
}

// Every message of another tool in docs/migrate.md has an existing test.
func TestMessagesOnMigratePage(t *testing.T) {
	rows := tableRows(t, "migrate.md")
	require.Greater(t, len(rows), 15)
	for _, cells := range rows {
		shown := regexp.MustCompile(`\[(\w+)\]\(\.\./([^)]+)\)`).FindAllStringSubmatch(cells[len(cells)-1], -1)
		require.NotEmpty(t, shown, "no test: %s", cells)
		for _, link := range shown {
			text, err := os.ReadFile(filepath.Join("..", "..", link[2]))
			require.NoError(t, err, cells)
			if strings.HasSuffix(link[2], ".go") {
				require.Contains(t, string(text), "func "+link[1]+"(", cells)
			}
		}
	}
}

// A part of a message that the programs do not print is found.
func TestHasParts(t *testing.T) {
	const line = `return fmt.Errorf("%s has no revision %d; it has %s", set, n, known)`
	require.True(t, hasParts(line, "… has no revision …; it has …"))
	require.False(t, hasParts(line, "it has … has no revision"))
	require.False(t, hasParts(line, "has no revisions"))
}

// hasParts reports whether a line has the parts of a message between the …, in order.
func hasParts(line, message string) bool {
	for part := range strings.SplitSeq(message, "…") {
		at := strings.Index(line, strings.TrimSpace(part))
		if at < 0 {
			return false
		}
		line = line[at+len(strings.TrimSpace(part)):]
	}
	return true
}

// messageLines returns the lines of the programs' sources, a literal in several lines as
// one, and of the scripts; both without backslashes.
func messageLines(t *testing.T) []string {
	t.Helper()
	continued := regexp.MustCompile(`" \+\n\s*"`)
	root := filepath.Join("..", "..")
	var lines []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		isScript := strings.Contains(path, filepath.Join("testdata", "script")) && filepath.Ext(path) == ".txtar"
		isSource := filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"test", "bin", ".git", "docs"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir(), !isScript && !isSource:
			return nil
		}
		text, err := os.ReadFile(path)
		joined := continued.ReplaceAllString(string(text), "")
		lines = append(lines, strings.Split(strings.ReplaceAll(joined, `\`, ""), "\n")...)
		return err
	}))
	return lines
}

// tableRows returns the cells of the rows of a page's tables of messages.
func tableRows(t *testing.T, page string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	var rows [][]string
	for table := range strings.SplitSeq(string(text), "\n\n") {
		if !strings.HasPrefix(table, "| message ") {
			continue
		}
		for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
			rows = append(rows, strings.Split(strings.Trim(row, "| "), " | "))
		}
	}
	return rows
}
