package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// StartDetached runs a control plane in the returned folder until the test ends. It continues
// if one of its processes ends, see RestartAPIServer.
func StartDetached(t testing.TB) string {
	t.Helper()
	bin, err := Find("localcluster")
	if err != nil {
		Skip(t, "the localcluster command (run `make localcluster`)")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	output, err := exec.Command(bin, "up", "--timeout", "5m", "--dir", dir).CombinedOutput()
	require.NoError(t, err, string(output))
	t.Cleanup(func() {
		if output, err := exec.Command(bin, "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("take the cluster down: %v: %s", err, output)
		}
	})
	return dir
}

// RestartAPIServer kills the API server of a control plane of StartDetached, and starts the
// same command after a pause.
func RestartAPIServer(t testing.TB, dir string, pause time.Duration) {
	file := filepath.Join(dir, "run", "kube-apiserver.pid")
	text, err := os.ReadFile(file)
	assert.NoError(t, err)
	pid, err := strconv.Atoi(string(text))
	assert.NoError(t, err)
	again, err := sameCommand(pid)
	if !assert.NoError(t, err) || !assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) {
		return
	}
	time.AfterFunc(pause, func() {
		for code := 1; code > 0 && t.Context().Err() == nil; { // it ends itself when etcd is slow while it starts
			server := &exec.Cmd{Path: again.Path, Args: again.Args, Env: again.Env, Dir: again.Dir, SysProcAttr: again.SysProcAttr}
			if !assert.NoError(t, server.Start()) {
				return
			}
			assert.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(server.Process.Pid)), 0o600), "down ends it by that")
			_ = server.Wait()
			code = server.ProcessState.ExitCode() // -1 after a signal
		}
	})
}

// sameCommand returns a process's command with its folder and environment.
func sameCommand(pid int) (*exec.Cmd, error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	line, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		return nil, err
	}
	environ, err := os.ReadFile(proc + "environ")
	if err != nil {
		return nil, err
	}
	words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = strings.Split(strings.TrimSuffix(string(environ), "\x00"), "\x00")
	cmd.Dir, err = os.Readlink(proc + "cwd")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, err
}
