package readme

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page about libraries shows the program of examples/library, of at most 30 lines of
// code, and its sh block runs it.
func TestLibraryProgram(t *testing.T) {
	program := readPage(t, filepath.Join("..", "..", "examples", "library", "main.go"))
	_, program, _ = strings.Cut(program, "\n")
	require.LessOrEqual(t, strings.Count(program, "\n")-strings.Count(program, "\n\n"), 30)
	require.Contains(t, readPage(t, filepath.Join("..", "..", "docs", "library.md")), "```go\n"+program+"```\n")
}
