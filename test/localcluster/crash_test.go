package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDownAfterKilledUp: whenever `up` is killed, `down` leaves neither a process nor a file.
func TestDownAfterKilledUp(t *testing.T) {
	moments := []time.Duration{0, 5, 10, 20, 30, 50, 100, 300, 1000, 2000, 2500, 3000, 3500} // milliseconds
	for _, moment := range moments {
		t.Run(fmt.Sprintf("%dms", moment), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			cmd := exec.Command(built(t), "up", "--dir", dir)
			require.NoError(t, cmd.Start())
			time.Sleep(moment * time.Millisecond)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			localcluster(t, "down", "--dir", dir)
			requireNothingLeft(t, dir)
		})
	}
}

// TestDownRemovesVolumes: the folders that the hostpath provisioner made outside the cluster's
// folder go as well, other clusters' stay.
func TestDownRemovesVolumes(t *testing.T) {
	dir := folder(t)
	localcluster(t, "up", "--dir", dir)
	foreign := filepath.Join(volumeRoot, "00000000-0000-4000-8000-000000000000")
	require.NoError(t, os.MkdirAll(foreign, 0o755))
	defer os.Remove(volumeRoot)
	defer os.Remove(foreign)
	manifest := filepath.Join(t.TempDir(), "pod.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: "app:1"}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`), 0o644))
	localcluster(t, "kubectl", "--dir", dir, "--", "apply", "-f", manifest)
	localcluster(t, "kubectl", "--dir", dir, "--", "wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
	volume := localcluster(t, "kubectl", "--dir", dir, "--", "get", "pv", "-o", "jsonpath={.items[0].spec.hostPath.path}")
	require.DirExists(t, volume)

	for _, name := range []string{kwok, controllerManager, apiServer, etcd} { // as after a crash of everything
		p, err := readPid(filepath.Join(dir, runDir, name+".pid"))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
	}
	localcluster(t, "down", "--dir", dir)
	require.NoDirExists(t, volume)
	require.DirExists(t, foreign)
	requireNothingLeft(t, dir)
}

// TestDownAfterRemovedFolder: `down` finds the processes of a cluster whose folder is gone, by any name of the folder.
func TestDownAfterRemovedFolder(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "c")
	localcluster(t, "up", "--light", "--dir", dir)
	require.NoError(t, os.RemoveAll(dir))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(parent, link))
	require.Contains(t, localcluster(t, "down", "--dir", filepath.Join(link, "c")), "no cluster in")
	requireNothingLeft(t, dir)
}

// TestAttached: the cluster ends with the standard input of `up --attached`, with a signal to it, or with a component;
// also when its folder was removed before.
func TestAttached(t *testing.T) {
	ends := map[string]func(t *testing.T, dir string, cmd *exec.Cmd, stdin io.Closer){
		"stdin": func(t *testing.T, _ string, _ *exec.Cmd, stdin io.Closer) { require.NoError(t, stdin.Close()) },
		"signal": func(t *testing.T, _ string, cmd *exec.Cmd, _ io.Closer) {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		},
		"removed folder": func(t *testing.T, dir string, _ *exec.Cmd, stdin io.Closer) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, runDir)))
			require.NoError(t, stdin.Close())
		},
		"down": func(t *testing.T, dir string, _ *exec.Cmd, _ io.Closer) { localcluster(t, "down", "--dir", dir) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			cmd := exec.Command(built(t), "up", "--attached", "--light", "--dir", dir)
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "ready "+filepath.Join(dir, "kubeconfig")+"\n", line)
			end(t, dir, cmd, stdin)
			require.NoError(t, cmd.Wait())
			requireNothingLeft(t, dir)
		})
	}
}

// TestAttachedKilledComponent: an attached cluster that loses a component ends, and names
// it and the reason.
func TestAttachedKilledComponent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	cmd, stderr := attached(t, dir, "--light")
	p, err := readPid(filepath.Join(dir, runDir, etcd+".pid"))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.Contains(t, stderr.String(), "etcd ended (signal: killed); the end of its log:")
	requireNothingLeft(t, dir)
}

// attached is a cluster in a folder that is up as long as its standard input is open, and
// its output.
func attached(t *testing.T, dir string, flags ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd, stderr := exec.Command(built(t), append([]string{"up", "--attached", "--dir", dir}, flags...)...), &strings.Builder{}
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return cmd, stderr
}

// TestAttachedRestartsKwok: kwok may end, as v0.8.0 does, and Pods become ready all the same; a
// kwok that always ends again ends the cluster.
func TestAttachedRestartsKwok(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	cmd, stderr := attached(t, dir)
	kill := func(last process) process {
		var p process
		require.Eventually(t, func() bool {
			var err error
			p, err = readPid(filepath.Join(dir, runDir, kwok+".pid"))
			return err == nil && p != last && p.runs(dir)
		}, 20*time.Second, 20*time.Millisecond, "kwok was not started again")
		require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
		return p
	}
	killed := kill(process{})
	localcluster(t, "kubectl", "--dir", dir, "--", "run", "web", "--image=app:1")
	localcluster(t, "kubectl", "--dir", dir, "--", "wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
	for range maxRestarts {
		killed = kill(killed)
	}
	require.Error(t, cmd.Wait())
	require.Contains(t, stderr.String(), "kwok ended (signal: killed)")
	requireNothingLeft(t, dir)
}

// requireNothingLeft: dir is gone, and no process names it; one that was just refused its start may take a moment.
func requireNothingLeft(t *testing.T, dir string) {
	t.Helper()
	require.NoDirExists(t, dir)
	var left string
	require.Eventually(t, func() bool {
		out, err := exec.Command("ps", "-axww", "-o", "pid=,args=").Output()
		require.NoError(t, err)
		left = ""
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, dir) {
				left += line
			}
		}
		return left == ""
	}, 20*time.Second, 50*time.Millisecond, "processes left: %s", &left)
	require.NoDirExists(t, dir)
}

// TestAttachedSurvivesItsGroup: a kill of a test's whole process group spares the
// undertaker.
func TestAttachedSurvivesItsGroup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	cmd := exec.Command("sh", "-c", `"$0" up --attached --light --dir "$1"; exit`, built(t), dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.DirExists(t, dir)
	_ = stdin.Close() // by cmd.Wait at the latest
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, 60*time.Second, 50*time.Millisecond)
	requireNothingLeft(t, dir)
}
