package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// jobShell runs a command as a shell with job control does: in the foreground
// of its terminal, in its own process group, which is not orphaned because its
// parent, this process, is in the same session. It writes the command's process
// ID to descriptor 3, and exits with the command's exit code.
func jobShell() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
	fmt.Fprintln(os.NewFile(3, "pid"), cmd.Process.Pid)
	_ = cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

// underShell starts a program that a shell runs on its own terminal. The
// returned process is the program, not the shell.
func underShell(t *testing.T, bin string, args ...string) *seated {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	ids, id, err := os.Pipe()
	require.NoError(t, err)
	p := prepared(t, exe)
	p.Args = append([]string{"jobshell", bin}, args...)
	p.ExtraFiles = []*os.File{id}
	p.start(t)
	require.NoError(t, id.Close())
	_, err = fmt.Fscan(ids, &p.pid)
	require.NoError(t, err)
	require.NoError(t, ids.Close())
	t.Cleanup(func() { _ = syscall.Kill(p.pid, syscall.SIGKILL) })
	go p.look()
	return p
}

// signal sends a signal to the program.
func (p *seated) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(p.pid, s))
}

// stopped reports whether the program is stopped.
func (p *seated) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	return err == nil && statOf(string(stat)) == 'T'
}

// statOf returns the state in a line of /proc/PID/stat, which follows the name
// in parentheses.
func statOf(line string) byte {
	for i := len(line) - 1; i >= 0; i-- {
		if line[i] == ')' {
			return line[i+2]
		}
	}
	return 0
}

// testOrphaned: if no shell could continue the program, Ctrl-Z does not stop
// it: in an orphaned process group, and as process 1 of a container, which no
// signal stops.
func testOrphaned(t *testing.T, bin string, args []string, namespaces uintptr) {
	p := prepared(t, bin, append(args, "--wave-timeout", "6s")...)
	p.SysProcAttr.Cloneflags = namespaces
	if err := p.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("skipped: this account may not make a PID namespace")
	} else {
		require.NoError(t, err)
	}
	p.attend(t)
	go p.look()
	p.await(t, "Deployment live/stuck")
	for range 3 {
		_, err := p.keyboard.Write([]byte{26}) // Ctrl-Z
		require.NoError(t, err)
		for range 20 {
			require.False(t, p.stopped(), "it is stopped, and no shell could continue it")
			time.Sleep(20 * time.Millisecond)
		}
	}
	require.Equal(t, report.ExitTimedOut, p.wait())
	p.requireClean(t, `^wave 2/3 \(first\): ended after [0-9.]+s: 1 ready, 1 timed out$`, `^2 ready, 1 timed out, 1 not started, in `)
}
