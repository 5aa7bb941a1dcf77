package plan

import (
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// fitting is a writer of the text of plans to a terminal, which cuts reasons at its width.
type fitting struct {
	io.Writer
	columns int
}

// ToTerminal returns the writer of a plan's text to standard output. On a terminal it cuts
// the reasons; -v prints them whole, and ordapply explain does for one resource.
func ToTerminal(c *console.Console) io.Writer {
	out := c.Out
	file := files.FileOf(out)
	if file == nil || c.Log != nil {
		return out
	}
	columns, _, err := term.GetSize(int(file.Fd())) // fails if it is no terminal
	if err != nil || columns <= 0 {
		return out
	}
	return fitting{out, columns}
}

// Write implements io.Writer; p is a whole text.
func (f fitting) Write(p []byte) (int, error) {
	if _, err := io.WriteString(f.Writer, fit(string(p), f.columns)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fit cuts the lines of resources, indented by two spaces, at a width. The changes below
// them are not cut.
func fit(text string, columns int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		row := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		if body := strings.TrimSuffix(line, "\n"); row && terminal.Width(body) > columns {
			line = terminal.Clip(body, columns) + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
