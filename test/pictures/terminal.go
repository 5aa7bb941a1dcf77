package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os/exec"
	"strings"

	"github.com/ordapply/ordapply/test/testcluster"
	"github.com/ordapply/ordapply/test/vt"
)

// The size of the terminal.
const columns, rows = 100, 20

// record runs ordapply on a terminal, which script of util-linux provides, and returns, below
// the command, the frame that had the most lines in the colour of work in progress, and of these
// the last. The command does not show more, which are further arguments.
func record(ctx context.Context, kubeconfig, args, more string) ([][]vt.Cell, error) {
	ordapply, err := testcluster.Find("ordapply")
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("stty cols %d rows %d; exec %s %s %s", columns, rows, ordapply, args, more)
	cmd := exec.CommandContext(ctx, "script", "-qec", line, "/dev/null")
	cmd.Env = environment(ctx, kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("script, of util-linux: %w", err)
	}
	screen, most := vt.New(columns, rows), 0
	_, _ = fmt.Fprintf(screen, "$ ordapply %s\n", args)
	var best [][]vt.Cell
	for buffer := make([]byte, 1<<16); ; {
		n, err := out.Read(buffer)
		if _, fault := screen.Write(buffer[:n]); fault != nil {
			return nil, fault
		}
		if busy := inProgress(screen.Screen()); busy > 0 && busy >= most {
			best, most = screen.Screen(), busy
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w:\n%s", err, screen.Text())
	}
	for len(best) > 0 && len(best[len(best)-1]) == 0 {
		best = best[:len(best)-1]
	}
	if best == nil {
		return nil, errors.New("no frame was drawn")
	}
	return best, nil
}

// inProgress counts the lines in the colour of work in progress.
func inProgress(frame [][]vt.Cell) int {
	n := 0
	for _, line := range frame {
		if len(line) > 0 && line[0].Style == "38;5;130" {
			n++
		}
	}
	return n
}

// The size of a character, and of the frame around the text.
const (
	charWidth, lineHeight = 8.4, 19
	bar, padding          = 34, 16
)

// terminalSVG draws lines in a window.
func terminalSVG(lines [][]vt.Cell, dark bool) string {
	ground, edge, text := "#ffffff", "#d0d7de", "#1f2328"
	if dark {
		ground, edge, text = "#0d1117", "#30363d", "#e6edf3"
	}
	width, height := columns*charWidth+2*padding, float64(bar+len(lines)*lineHeight+padding)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="%s">`+"\n", width, height, width, height, text)
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%.0f" height="%.0f" rx="8" fill="%s" stroke="%s"/>`+"\n", width-1, height-1, ground, edge)
	for n, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`+"\n", padding+6+n*19, colour)
	}
	for n, line := range lines {
		for at := 0; at < len(line); {
			end := at
			for end < len(line) && line[end].Style == line[at].Style {
				end++
			}
			writeRun(&b, line[at:end], padding+float64(at)*charWidth, float64(bar+n*lineHeight+14))
			at = end
		}
	}
	return b.String() + "</svg>\n"
}

// writeRun writes characters of one colour, each at its place whatever the font.
func writeRun(b *strings.Builder, run []vt.Cell, x, y float64) {
	var text strings.Builder
	for _, c := range run {
		text.WriteRune(c.Rune)
	}
	if strings.TrimSpace(text.String()) == "" {
		return
	}
	colour := map[string]string{"": "", "2": ` opacity=".65"`, "38;5;28": ` fill="#008700"`, "38;5;130": ` fill="#af5f00"`, "38;5;160": ` fill="#d70000"`}[run[0].Style]
	fmt.Fprintf(b, `<text xml:space="preserve" x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n", x, y, float64(len(run))*charWidth, colour, html.EscapeString(text.String()))
}
