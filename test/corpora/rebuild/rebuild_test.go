package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/test/corpora"
)

// list is the list in the repository.
var list = filepath.Join("..", "sources.yaml")

// Every row has all that a reader needs to repeat it, and to know what may be done with it.
func TestRowsAreComplete(t *testing.T) {
	streams, err := read(list)
	require.NoError(t, err)
	require.NotEmpty(t, streams)
	seen := map[string]bool{}
	for _, s := range streams {
		require.NotEmpty(t, s.Name)
		require.False(t, seen[s.Name], "%s has two rows", s.Name)
		seen[s.Name] = true
		require.NotEmpty(t, s.Command, s.Name)
		require.Regexp(t, "^[0-9a-f]{64}$", s.SHA256, s.Name)
		require.NotEmpty(t, s.Repositories, s.Name)
		for _, r := range s.Repositories {
			require.Regexp(t, "^https://[^/]+/[^/]+/[^/]+$", r.URL, s.Name)
			require.Regexp(t, "^[0-9a-f]{40}$", r.Commit, s.Name)
			require.NotEmpty(t, r.License, s.Name)
			require.NotEmpty(t, r.Paths, s.Name)
		}
	}
}

// Every stream that the tests read has a row, with its checksum and the commits in its header.
func TestEveryStreamHasARow(t *testing.T) {
	folder := corpora.Need(t)
	streams, err := read(list)
	require.NoError(t, err)
	rows := map[string]stream{}
	for _, s := range streams {
		rows[s.file(folder)] = s
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "world/*.yaml"} {
		some, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		files = append(files, some...)
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		require.Contains(t, rows, file)
		s := rows[file]
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, s.SHA256, checksum(text), file)
		for _, r := range s.Repositories {
			require.Contains(t, string(text), fmt.Sprintf("# repo: %s commit %s ", r.URL, r.Commit))
		}
	}
}

func TestDocumentsBeginBelowTheHeader(t *testing.T) {
	for text, want := range map[string]string{
		"# corpus: a\n# repo: b\n---\n# Source: c\na: 1\n": "---\n# Source: c\na: 1\n",
		"---\na: 1\n":   "---\na: 1\n",
		"# only\n":      "",
		"# no line end": "",
		"":              "",
	} {
		require.Equal(t, want, string(documents([]byte(text))), "%q", text)
	}
}

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct{ got, want, says string }{
		{"a\nb\nc\n", "a\nx\nc\n", `line 2 of the documents is "b", not "x"`},
		{"a\n", "a\nb\n", `line 2 of the documents is "", not "b"`},
		{"a\nb\n", "a\n", `line 2 of the documents is "b", not ""`},
		{"a", "a\n", "the documents end with line 1, too early"},
		{"a\n", "a", "the documents should end with line 1"},
	} {
		require.Equal(t, c.says, firstDifference([]byte(c.got), []byte(c.want)))
	}
}

// A stream is the same, different, or cannot be fetched or rendered; the others are rebuilt all
// the same, and the exit code tells.
func TestResults(t *testing.T) {
	repo := newRepository(t)
	command := "edit b.yaml s/2/3/\nfiles {a,b}.yaml\nnamespace web"
	expected := "---\n# Source: shop/manifests/a.yaml\n# a\n---\na: 1\n" +
		"---\n# Source: shop/manifests/b.yaml\nb: 3\n" +
		"---\n# Source: (added: helm --create-namespace)\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n"
	sum := checksum([]byte(expected))
	lost := repo
	lost.Commit = strings.Repeat("0", 40)
	list := writeList(t,
		stream{"lost", []repository{lost}, command, sum},
		stream{"broken", []repository{repo}, "files missing.yaml | cat", sum},
		stream{"changed", []repository{repo}, "edit a.yaml s/1/7/\n" + command, sum},
		stream{"right", []repository{repo}, command, sum},
		stream{"world/right", []repository{repo}, command, sum},
	)
	into := t.TempDir()

	t.Setenv(corpora.Variable, "")
	code, printed := rebuilt(t, list, into)
	require.Equal(t, 1, code)
	require.Regexp(t, `^lost +cannot be fetched: fatal: .*
broken +cannot be rendered: .*missing.yaml: No such file or directory
changed +different: the documents have the checksum [0-9a-f]{64}, not `+sum+`
right +same
world/right +same
$`, printed)
	text, err := os.ReadFile(filepath.Join(into, "world", "right.yaml"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("# corpus: world/right\n# repo: %s commit %s license MIT\n%s", repo.URL, repo.Commit, expected), string(text))

	known := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(known, "changed.yaml"), []byte("# header\n"+expected), 0o600))
	t.Setenv(corpora.Variable, known)
	code, printed = rebuilt(t, list, into, "changed")
	require.Equal(t, 1, code)
	require.Regexp(t, `^changed +different: line 5 of the documents is "a: 7", not "a: 1"\n$`, printed)
	code, _ = rebuilt(t, list, into, "right", "world/right")
	require.Zero(t, code)
	code, _ = rebuilt(t, list, into, "unknown")
	require.Equal(t, 2, code)
}

// A stream that is right already is not fetched again.
func TestRightStreamsAreKept(t *testing.T) {
	repo := newRepository(t)
	repo.Commit = strings.Repeat("0", 40)
	into := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(into, "a.yaml"), []byte("# header\n---\na: 1\n"), 0o600))
	code, printed := rebuilt(t, writeList(t, stream{"a", []repository{repo}, "false", checksum([]byte("---\na: 1\n"))}), into)
	require.Zero(t, code, printed)
}

// rebuilt runs the command and returns its exit code and output.
func rebuilt(t *testing.T, list, into string, names ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(context.Background(), append([]string{"-list", list, "-into", into}, names...), &out, &out)
	return code, out.String()
}

// writeList writes a list and returns its path.
func writeList(t *testing.T, streams ...stream) string {
	t.Helper()
	text, err := yaml.Marshal(streams)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// newRepository returns a repository shop/manifests on this machine with the files a.yaml and
// b.yaml.
func newRepository(t *testing.T) repository {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shop", "manifests")
	require.NoError(t, os.MkdirAll(folder, fs.ModePerm))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("---\n# a\n---\na: 1\n---\n\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.yaml"), []byte("b: 2"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "left-out.yaml"), nil, 0o600))
	var commit []byte
	for _, args := range []string{
		"init --quiet",
		"config uploadpack.allowFilter true",
		"config uploadpack.allowAnySHA1InWant true",
		"add .",
		"-c user.name=tester -c user.email=tester@example.com -c commit.gpgsign=false commit --quiet -m manifests",
		"rev-parse HEAD",
	} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = folder
		out, err := cmd.Output()
		require.NoError(t, err, args)
		commit = out
	}
	return repository{URL: "file://" + folder, Commit: strings.TrimSpace(string(commit)), License: "MIT", Paths: []string{"a.yaml", "b.yaml"}}
}
