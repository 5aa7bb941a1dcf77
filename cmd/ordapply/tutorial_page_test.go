package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// The commands of docs/tutorial.md work, in order, in one shell, and print the page's text
// on one of their two streams: exactly, or with … for differences between runs. Without
// localcluster, the commands before its first one are run. `make golden` updates text
// without ….
func TestTutorialPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tutorial.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	steps := tutorialSteps(string(page))
	commands := len(steps)
	if _, err := testcluster.Find("localcluster"); err != nil {
		commands = 0
		for !strings.Contains(steps[commands].commands, "\nlocalcluster ") {
			commands++
		}
	}
	rewritten := string(page)
	for i, output := range followTutorial(t, steps[:commands]) {
		shown := steps[i].shown
		if shown == "" {
			continue
		}
		if os.Getenv("ORDAPPLY_GOLDEN") != "" && !strings.Contains(shown, "…") {
			rewritten = strings.Replace(rewritten, steps[i].text, strings.Replace(steps[i].text, shown, output.stdout, 1), 1)
			continue
		}
		pattern := outputPattern(shown)
		require.True(t, pattern.MatchString(output.stdout) || pattern.MatchString(output.stderr),
			"%s\nshown:\n%s\nstandard output:\n%s\nstandard error:\n%s", steps[i].commands, shown, output.stdout, output.stderr)
	}
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(rewritten), 0o644))
	}
	if commands < len(steps) {
		testcluster.Skip(t, "the localcluster command (run `make localcluster`)")
	}
}

// tutorialStep is a block of commands of the page.
type tutorialStep struct {
	text     string // the blocks as they are on the page
	commands string // without make lines, after a newline
	shown    string // the output below them; "" for none
}

func tutorialSteps(page string) []tutorialStep {
	var steps []tutorialStep
	for _, found := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?").FindAllStringSubmatch(page, -1) {
		commands := regexp.MustCompile("(?m)^make .*\n").ReplaceAllString("\n"+found[1], "")
		steps = append(steps, tutorialStep{text: found[0], commands: commands, shown: found[2]})
	}
	return steps
}

// tutorialOutput is the output of a step's commands.
type tutorialOutput struct{ stdout, stderr string }

// outputPattern returns the expression for an output in which … stands for any
// text, and for any lines if it is alone on its line.
func outputPattern(shown string) *regexp.Regexp {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(shown) {
		if line == "…\n" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile(pattern.String() + `\z`)
}

// followTutorial runs the steps in one shell and returns the output of each.
func followTutorial(t *testing.T, steps []tutorialStep) []tutorialOutput {
	t.Helper()
	const mark = "=== step %d\n"
	var script strings.Builder
	for i, step := range steps {
		fmt.Fprintf(&script, "\nprintf '"+mark+"'; printf '"+mark+"' >&2\n%s", i, i, step.commands)
	}
	ctx := t.Context()
	if deadline, limited := t.Deadline(); limited {
		limit, cancel := context.WithDeadline(ctx, deadline.Add(-time.Minute))
		defer cancel()
		ctx = limit
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script.String())
	cmd.Env, cmd.Dir = tutorialEnv(t), t.TempDir()
	manifests := filepath.Join("examples", "bookshop")
	require.NoError(t, os.CopyFS(filepath.Join(cmd.Dir, manifests), os.DirFS(filepath.Join("..", "..", manifests))))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	require.NoError(t, err, "%s\n%s", &stdout, &stderr)
	var outputs []tutorialOutput
	for i := range steps {
		outputs = append(outputs, tutorialOutput{part(stdout.String(), mark, i), part(stderr.String(), mark, i)})
	}
	return outputs
}

// part returns the text between a mark and the next.
func part(text, mark string, i int) string {
	_, text, _ = strings.Cut(text, fmt.Sprintf(mark, i))
	text, _, _ = strings.Cut(text, fmt.Sprintf(mark, i+1))
	return text
}

// tutorialEnv returns the environment of the tutorial: its programs, and a
// folder of its own for its files and its cluster, which are removed in the end.
func tutorialEnv(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ordapply-tutorial-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	folders := []string{filepath.SplitList(os.Getenv("PATH"))[0]} // of this very ordapply, see testscript.Main
	for _, name := range []string{"kustomize", "localcluster"} {
		program, err := testcluster.Find(name)
		if err != nil && name == "kustomize" {
			testcluster.Skip(t, "kustomize (run `make kustomize`)")
		}
		if err != nil {
			continue
		}
		folders = append(folders, filepath.Dir(program))
		if name == "localcluster" {
			t.Cleanup(func() {
				_ = exec.Command(program, "down", "--dir", filepath.Join(dir, "tutorial-cluster")).Run()
			})
		}
	}
	path := strings.Join(append(folders, os.Getenv("PATH")), string(filepath.ListSeparator))
	return append(os.Environ(), "PATH="+path, "TMPDIR="+dir, "KUBECONFIG="+filepath.Join(dir, "none"))
}
