package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// report reads the output of `go build -v`, one import path a line as each is compiled, and prints
// the progress: on a terminal by rewriting one line, elsewhere by a line every 15 seconds. It
// returns the other lines, which are the compiler's errors.
func report(lines io.Reader, out io.Writer, total int) string {
	p := newProgress(out, total)
	importPath := regexp.MustCompile(`^[\w.~/-]+$`)
	var other strings.Builder
	for s := bufio.NewScanner(lines); s.Scan(); {
		if importPath.MatchString(s.Text()) {
			p.step(s.Text())
			continue
		}
		other.WriteString(s.Text() + "\n")
	}
	p.end()
	return other.String()
}

type progress struct {
	out         io.Writer
	terminal    bool
	begin, last time.Time
	done, total int
}

func newProgress(out io.Writer, total int) *progress {
	file, ok := out.(*os.File)
	if ok {
		info, err := file.Stat()
		ok = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return &progress{out: out, terminal: ok, begin: time.Now(), total: total}
}

// step counts one package. A rewritten line is cut to fit a narrow terminal, where it would otherwise wrap.
func (p *progress) step(pkg string) {
	p.done++
	every := 15 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.last) < every && p.done < p.total {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("[%4d/%d] %-50.50s %s", p.done, max(p.done, p.total), pkg, time.Since(p.begin).Round(time.Second))
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\033[K", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) end() {
	if p.terminal && p.done > 0 {
		fmt.Fprintln(p.out)
	}
}
