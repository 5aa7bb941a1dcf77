package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneClaimWins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	_, err := openFolder(dir)
	require.ErrorIs(t, err, errNoCluster)
	_, err = claimFolder(dir)
	require.NoError(t, err)
	_, err = claimFolder(dir)
	require.ErrorIs(t, err, os.ErrExist)
	_, err = openFolder(dir) // killed right after the claim: still a cluster's folder, for `down`
	require.NoError(t, err)
}

// TestNoStartDuringDown: a component that comes too late does not start, and leaves no file.
func TestNoStartDuringDown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, runDir), 0o755))
	require.NoError(t, recordPid(dir, etcd))
	require.NoError(t, shutDown(dir))
	require.ErrorContains(t, recordPid(dir, kwok), "the cluster is being taken down")
	require.NoFileExists(t, filepath.Join(dir, runDir, kwok+".pid"))
}

// TestForeignPidIsLeftAlone: the pid file names this test, whose command line does not hold the folder.
func TestForeignPidIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, runDir), 0o755))
	require.NoError(t, recordPid(dir, etcd))
	begin := time.Now()
	require.NoError(t, takeDown(dir))
	require.Less(t, time.Since(begin), stopTime)
}

func TestSpan(t *testing.T) {
	var s span
	require.NoError(t, s.Set("500ms..2s"))
	require.Equal(t, span{500 * time.Millisecond, 2 * time.Second}, s)
	require.NoError(t, s.Set("1s"))
	require.Equal(t, span{time.Second, time.Second}, s)
	for _, bad := range []string{"", "1", "2s..1s", "-1s..1s", "1s..", "1s..2s..3s"} {
		require.Error(t, s.Set(bad), bad)
	}
}
