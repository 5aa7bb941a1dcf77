package helmreferee

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// refereeCase is a chart with steps to execute.
type refereeCase struct {
	name     string // of the chart, the release, and the apply set
	file     string
	archive  *txtar.Archive
	chart    string // the chart's folder
	steps    []step
	recorded map[string]string // Helm's sequence, by step
}

// step is one command, such as "upgrade v=2 fate=fail rollback-on-failure
// fails". Steps of a case must be distinct; the word "again" has no other
// effect.
type step struct {
	line    string
	verb    string // install, upgrade, rollback, uninstall, kubectl, says
	args    []string
	values  []string // for --set
	fails   bool
	timeout string // for each wait
	undo    bool   // --rollback-on-failure
}

// timeLimit is how long a step may wait for a hook or for the templates.
const timeLimit = "5m"

func parseStep(line string) step {
	words := strings.Fields(line)
	s := step{line: line, verb: words[0], timeout: timeLimit}
	if s.verb == "kubectl" || s.verb == "says" {
		s.args = words[1:]
		return s
	}
	for _, word := range words[1:] {
		switch name, value, is := strings.Cut(word, "="); {
		case word == "fails":
			s.fails = true
		case word == "rollback-on-failure":
			s.undo = true
		case is && name == "timeout":
			s.timeout = value
		case is:
			s.values = append(s.values, "--set", word)
		default:
			s.args = append(s.args, word)
		}
	}
	return s
}

// runs reports whether a step is executed by the tools and has a sequence.
func (s step) runs() bool { return s.verb != "kubectl" && s.verb != "says" }

// readCases reads testdata and unpacks the charts.
func readCases(t *testing.T) []*refereeCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	objects, err := os.ReadFile(filepath.Join("testdata", "objects.tpl"))
	require.NoError(t, err)
	var cases []*refereeCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		c := &refereeCase{name: strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".txtar"), "_", "-"), file: file, archive: archive}
		c.unpack(t, objects)
		cases = append(cases, c)
	}
	return cases
}

func (c *refereeCase) unpack(t *testing.T, objects []byte) {
	t.Helper()
	c.chart = filepath.Join(t.TempDir(), c.name)
	c.write(t, "Chart.yaml", []byte("apiVersion: v2\nname: "+c.name+"\nversion: 1.0.0\n"))
	c.write(t, "values.yaml", []byte("v: 1\nfate: \"\"\n"))
	c.write(t, "templates/_objects.tpl", objects)
	for _, f := range c.archive.Files {
		switch f.Name {
		case "steps":
			for line := range strings.Lines(string(f.Data)) {
				c.steps = append(c.steps, parseStep(strings.TrimSpace(line)))
			}
		case "helm":
			c.recorded = readSequences(string(f.Data))
		default:
			c.write(t, f.Name, f.Data)
		}
	}
	require.NotEmpty(t, c.steps, "%s has no steps", c.file)
	lines := map[string]bool{}
	for _, s := range c.steps {
		require.False(t, lines[s.line], "%s: two steps are written alike: %s", c.file, s.line)
		lines[s.line] = true
	}
}

func (c *refereeCase) write(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(c.chart, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// record writes Helm's sequences into the case's file.
func (c *refereeCase) record(t *testing.T, sequences map[string]string) {
	t.Helper()
	var text strings.Builder
	for _, s := range c.steps {
		if s.runs() {
			text.WriteString(s.line + "\n" + sequences[s.line])
		}
	}
	files := c.archive.Files[:0:0]
	for _, f := range c.archive.Files {
		if f.Name != "helm" {
			files = append(files, f)
		}
	}
	files = append(files, txtar.File{Name: "helm", Data: []byte(text.String())})
	require.NoError(t, os.WriteFile(c.file, txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: files}), 0o644))
}

// readSequences parses record's output: a step's line, then its sequence, indented.
func readSequences(text string) map[string]string {
	out, step := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			out[step] += line
		} else {
			step = strings.TrimSpace(line)
			out[step] = ""
		}
	}
	return out
}
