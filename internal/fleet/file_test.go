package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// Each testdata/*.txtar is a file with its cohorts, or with all of its errors.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Len(t, archive.Files, 2)
			f, err := Parse(filepath.Join("fleets", archive.Files[0].Name), archive.Files[0].Data)
			got := describe(f)
			if err != nil {
				got = err.Error() + "\n"
			}
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				archive.Files[1].Data = []byte(got)
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(archive.Files[1].Data), got)
		})
	}
}

func describe(f *Fleet) string {
	var out strings.Builder
	if f == nil {
		return ""
	}
	for _, c := range f.Cohorts {
		fmt.Fprintf(&out, "%s: %d at a time, %d may fail, gate %s, pause %s\n", c.Name, c.MaxParallel, c.MaxFailures, c.Gate, c.Pause)
		for _, m := range c.Clusters {
			fmt.Fprintf(&out, "  %s: context %s, kubeconfig %q, namespace %q\n", m.Name, m.Context, m.Kubeconfig, m.Namespace)
		}
	}
	return out.String()
}

// Contexts are cohorts of one cluster each.
func TestOfContexts(t *testing.T) {
	f, err := OfContexts([]string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, "a: 1 at a time, 0 may fail, gate 0s, pause 0s\n  a: context a, kubeconfig \"\", namespace \"\"\n"+
		"b: 1 at a time, 0 may fail, gate 0s, pause 0s\n  b: context b, kubeconfig \"\", namespace \"\"\n", describe(f))
	_, err = OfContexts([]string{"a", "", "a"})
	require.EqualError(t, err, "--contexts: a name is empty\n--contexts: duplicate context a")
}

// A gate is looked at ten times, at least every 30 s and at most every 2 s, and at its end.
func TestNextLook(t *testing.T) {
	now := time.Now()
	require.Equal(t, 30*time.Second, nextLook(now, now.Add(time.Hour), time.Hour).Sub(now))
	require.Equal(t, 6*time.Second, nextLook(now, now.Add(time.Minute), time.Minute).Sub(now))
	require.Equal(t, 2*time.Second, nextLook(now, now.Add(5*time.Second), 5*time.Second).Sub(now))
	require.Equal(t, time.Second, nextLook(now, now.Add(time.Second), time.Minute).Sub(now))
	require.Equal(t, 6*time.Second, nextLook(now, now.Add(-time.Second), time.Minute).Sub(now))
}

// Parse returns a fleet or an error for any text, and every cluster of a fleet is in one
// cohort.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := Parse("fleet.yaml", text)
		require.Equal(t, err == nil, read != nil)
		if read == nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range read.Clusters() {
			require.False(t, seen[c.Name])
			seen[c.Name] = true
		}
		for _, cohort := range read.Cohorts {
			require.Positive(t, cohort.MaxParallel)
		}
	})
}

// The run on a cluster ends the command only if nothing is started and no gate is held after it.
func TestWhatWaitsForTheRunOnACluster(t *testing.T) {
	cohort := func(parallel int, gate time.Duration, names ...string) Cohort {
		c := Cohort{Name: "of " + names[0], MaxParallel: parallel, Gate: gate}
		for _, name := range names {
			c.Clusters = append(c.Clusters, Cluster{Name: name})
		}
		return c
	}
	for name, c := range map[string]struct {
		cohorts []Cohort
		waited  string // the clusters whose runs something waits for
	}{
		"one cluster":        {cohorts: []Cohort{cohort(1, 0, "a")}},
		"all at once":        {cohorts: []Cohort{cohort(2, 0, "a", "b")}},
		"one after another":  {cohorts: []Cohort{cohort(1, 0, "a", "b", "c")}, waited: "a b"},
		"some at once":       {cohorts: []Cohort{cohort(2, 0, "a", "b", "c")}, waited: "a b"},
		"a gate":             {cohorts: []Cohort{cohort(2, time.Minute, "a", "b")}, waited: "a b"},
		"before a cohort":    {cohorts: []Cohort{cohort(2, 0, "a", "b"), cohort(1, 0, "c")}, waited: "a b"},
		"cohorts, and gates": {cohorts: []Cohort{cohort(1, time.Minute, "a"), cohort(1, time.Minute, "b")}, waited: "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Fleet{Cohorts: c.cohorts}
			var waited []string
			for _, cluster := range f.Clusters() {
				if f.WaitsFor(cluster) {
					waited = append(waited, cluster.Name)
				}
			}
			require.Equal(t, c.waited, strings.Join(waited, " "))
		})
	}
}
