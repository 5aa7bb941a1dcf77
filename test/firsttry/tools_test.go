package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/appliers"
	"github.com/ordapply/ordapply/test/testcluster"
)

// eck returns the program whose custom resources have a webhook.
func eck(t *testing.T) stream {
	if _, err := testcluster.Find("localcluster"); err != nil {
		testcluster.Skip(t, "the localcluster command (run `make localcluster`)")
	}
	chosen, err := choose([]string{"eck"})
	require.NoError(t, err)
	return chosen[0]
}

// pretend returns a tool that is a script, which gets the kubeconfig and the file of the stream.
func pretend(t *testing.T, script string) tool {
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	apply := func(to appliers.Target, _ ...string) []string {
		return []string{"script", to.Kubeconfig, to.File()}
	}
	return tool{Applier: appliers.Applier{Name: "script", Apply: apply}, path: path}
}

// A tool fails by its exit code, by what is missing after it, and by the time it takes.
func TestToolsThatFail(t *testing.T) {
	s := eck(t)
	trial := &trial{dir: t.TempDir(), patience: 3 * time.Second, progress: t.Output()}
	objects, err := s.read("")
	require.NoError(t, err)
	for script, want := range map[string]string{
		"grep -q kind: $2 && echo before >&2; echo that is >&2; echo all >&2; exit 3": "exit code 3: that is all",
		"echo waiting; sleep 10": "not finished after 3s: waiting",
		"exit 0":                 "Pods not ready after 3s",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			failed, err := trial.withTool(t.Context(), pretend(t, script), s, objects)
			require.NoError(t, err)
			require.Equal(t, want, failed)
		})
	}
}

// The reason is at the end of the output, or where cli-utils has it.
func TestReason(t *testing.T) {
	for want, got := range map[string]outcome{
		"a b":                             {stderr: "x\na\nb\n", stdout: "c"},
		"c":                               {stdout: "c\n"},
		"no output":                       {},
		"a.b/c apply failed: no":          {stdout: "d apply successful\na.b/c apply failed: no\ne apply failed: x\n", stderr: "2 failed"},
		"Invalid object (a.b/c): no name": {stdout: "Invalid object (a.b/c): no name\n", stderr: "failed"},
		"DIR/stream " + strings.Repeat("x", 289) + "…": {stderr: "/tmp/1/stream " + strings.Repeat("x", 300)},
	} {
		require.Equal(t, want, (&place{dir: "/tmp/1"}).oneLine(got.reason()))
	}
}

// Each tool is tried in the first orders only.
func TestTally(t *testing.T) {
	s := eck(t)
	trial := &trial{dir: t.TempDir(), tools: []tool{pretend(t, "exit 1")}, shuffles: 10, tries: 2, patience: time.Minute, progress: t.Output()}
	objects, err := s.read("")
	require.NoError(t, err)
	all, err := trial.withTools(t.Context(), s, objects)
	require.NoError(t, err)
	require.Equal(t, []tally{{Name: "script", Tries: 2, Failed: "exit code 1: no output"}}, all)
}

// Programs that are not built are left out by their names; others are not known.
func TestToolsNamed(t *testing.T) {
	t.Setenv("ORDAPPLY_BIN", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir())
	found, missing, err := toolsNamed("kapp,helm")
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, []string{"kapp", "helm"}, missing)
	_, _, err = toolsNamed("kapp,helmm")
	require.EqualError(t, err, `no tool is called "helmm"; known: kubectl, kapp, kapply, helm`)
	found, missing, err = toolsNamed("")
	require.NoError(t, err)
	require.Empty(t, append(missing, namesOfTools(found)...))
}

func namesOfTools(tools []tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// The table has a column for each tool.
func TestTableOfTools(t *testing.T) {
	var out strings.Builder
	printTable(&out, []row{
		{stream: stream{name: "a"}, refused: true},
		{stream: stream{name: "a"}, tries: 2, good: 2, tools: []tally{{Name: "kapp", Tries: 3, Good: 1}, {Name: "helm", Tries: 3}}},
	})
	require.Regexp(t, `REVIEWS +KAPP +HELM +KUBECTL ONCE`, out.String())
	require.Regexp(t, `a +0 +0/0 .* 0 +- +- +- +- +as it`, out.String())
	require.Regexp(t, `a +0 +2/2 .* 0 +1/3 +0/3 +- +- +converges`, out.String())
}

// Streams that are finished are recorded while others are tried; one that is interrupted is not.
func TestRecordOfFinishedStreams(t *testing.T) {
	eck(t)
	if _, err := testcluster.Find("ordapply"); err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	chosen, err := choose([]string{"eck", "vault"})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	into := filepath.Join(t.TempDir(), "record.json")
	trial := &trial{dir: t.TempDir(), record: into, patience: time.Minute, progress: writer(func(text []byte) {
		if strings.HasPrefix(string(text), "unkind/vault, as it stands") {
			stop()
		}
	})}
	rows, err := trial.all(ctx, chosen)
	require.NoError(t, err)
	require.Equal(t, []string{"unkind/eck"}, rowNames(rows))
	text, err := os.ReadFile(into)
	require.NoError(t, err)
	var records []record
	require.NoError(t, json.Unmarshal(text, &records))
	require.Len(t, records, 1)
	require.Equal(t, "unkind/eck", records[0].Stream)
}

// writer is an io.Writer.
type writer func([]byte)

func (w writer) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

func rowNames(rows []row) []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.stream.name)
	}
	return names
}
