package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// A process is a component that some `up` started. Its pid file DIR/run/NAME.pid is written by the
// process itself before it becomes the server, so that there is never one without the other, even
// if `up` is killed.
type process struct {
	name string
	pid  int
}

// runDir holds the pid files of a cluster that may start processes; `down` renames it to stoppingDir, after which no
// process of this cluster can start any more.
const (
	runDir      = "run"
	stoppingDir = "stopping"
)

// execCommand is the first life of every component: it records its pid, then becomes the server.
func execCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "exec DIR NAME -- BINARY ARGUMENT...",
		Short:  "Record this process as a component of the cluster in DIR, then become BINARY",
		Hidden: true,
		Args:   cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := recordPid(args[0], args[1]); err != nil {
				return err
			}
			argv := args[2:]
			return fmt.Errorf("exec %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
		},
	}
}

// recordPid writes the pid file by renaming, so that it is never seen half written and never appears after `down` has
// taken the folder away.
func recordPid(dir, name string) error {
	file := filepath.Join(dir, runDir, name+".pid")
	draft := filepath.Join(dir, runDir, "."+name)
	if err := os.WriteFile(draft, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return fmt.Errorf("the cluster is being taken down: %w", err)
	}
	return os.Rename(draft, file)
}

// start runs a component detached from the terminal and from `up`, its output appended to DIR/logs/NAME.log. wait
// returns when it ends, as long as `up` runs.
func (c *cluster) start(comp component) (wait func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.logFile(comp.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	binary := comp.binary
	if binary == "" {
		binary = self
	}
	cmd := exec.Command(self, append([]string{"exec", c.Dir, comp.name, "--", binary}, comp.args...)...)
	cmd.Dir = c.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.path("home"), "TMPDIR=" + c.path("tmp")}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", comp.name, err)
	}
	return cmd.Wait, nil
}

func (c *cluster) logFile(name string) string { return c.path("logs", name+".log") }

// processes lists the recorded processes of the cluster in dir, running or not, by name.
func processes(dir string) ([]process, error) {
	var all []process
	for _, sub := range []string{runDir, stoppingDir} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".pid" {
				continue
			}
			p, err := readPid(filepath.Join(dir, sub, e.Name()))
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

func readPid(file string) (process, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return process{}, err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || pid <= 1 {
		return process{}, fmt.Errorf("%s does not hold a pid: %q", file, text)
	}
	return process{name: strings.TrimSuffix(filepath.Base(file), ".pid"), pid: pid}, nil
}

// runs reports whether the process is alive and still this component of the cluster in dir: its pid may be reused.
func (p process) runs(dir string) bool {
	return strings.Contains(strings.Join(commandLine(p.pid), " ")+" ", mark(p.name, dir)+" ")
}

// stopTime is how long a process may take to end by itself.
const stopTime = 5 * time.Second

// stop ends processes that run for dir: it asks all of them, waits, and kills the others.
func stop(dir string, all []process) error {
	signal := func(s syscall.Signal) (left []process, err error) {
		for _, p := range all {
			if !p.runs(dir) {
				continue
			}
			left = append(left, p)
			if e := syscall.Kill(p.pid, s); e != nil && !errors.Is(e, syscall.ESRCH) {
				err = errors.Join(err, fmt.Errorf("stop %s (pid %d): %w", p.name, p.pid, e))
			}
		}
		return left, err
	}
	if _, err := signal(syscall.SIGTERM); err != nil {
		return err
	}
	if gone(dir, all, stopTime) {
		return nil
	}
	if _, err := signal(syscall.SIGKILL); err != nil {
		return err
	}
	if gone(dir, all, stopTime) {
		return nil
	}
	left, _ := signal(0)
	return fmt.Errorf("still running after SIGKILL: %v", left)
}

func gone(dir string, all []process, within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !slices.ContainsFunc(all, func(p process) bool { return p.runs(dir) }) {
			return true
		}
	}
	return false
}
