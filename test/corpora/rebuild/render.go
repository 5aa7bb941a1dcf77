package main

import (
	"bytes"
	"context"
	_ "embed" // the functions of the commands
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/testcluster"
)

//go:embed render.sh
var functions string

// gitTimeout is the limit of one git command.
const gitTimeout = 10 * time.Minute

// render checks the stream's repositories out, side by side as OWNER/NAME, and returns what the
// command prints in the first one.
func (s stream) render(ctx context.Context) ([]byte, error) {
	root, err := os.MkdirTemp("", "ordapply-corpora-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	for _, r := range s.Repositories {
		if err := r.checkOut(ctx, filepath.Join(root, r.name())); err != nil {
			return nil, fmt.Errorf("cannot be fetched: %w", err)
		}
	}
	first := s.Repositories[0].name()
	cmd := exec.CommandContext(ctx, "bash", "-c", functions+s.Command)
	cmd.Dir = filepath.Join(root, first)
	cmd.Env = append(os.Environ(), "repository="+first, "PATH="+toolPath())
	rendered, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("cannot be rendered: %w", err)
	}
	return rendered, nil
}

// toolPath returns PATH, preceded by the folder of the tools that the Makefile builds.
func toolPath() string {
	path := os.Getenv("PATH")
	if kustomize, err := testcluster.Find("kustomize"); err == nil {
		path = filepath.Dir(kustomize) + string(os.PathListSeparator) + path
	}
	return path
}

// name returns OWNER/NAME, the end of the URL.
func (r repository) name() string {
	parts := strings.Split(r.URL, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// checkOut fetches the commit without its history, and of its files only those that the command
// reads, and checks them out in a new folder.
func (r repository) checkOut(ctx context.Context, folder string) error {
	if err := git(ctx, "init", "--quiet", folder); err != nil {
		return err
	}
	if err := r.choosePaths(folder); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"remote", "add", "origin", r.URL},
		{"fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", r.Commit},
		{"checkout", "--quiet", "FETCH_HEAD"},
	} {
		if err := git(ctx, append([]string{"-C", folder}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// choosePaths writes the file in which git reads what to check out. The sparse-checkout command
// has other flags in other versions of git.
func (r repository) choosePaths(folder string) error {
	info := filepath.Join(folder, ".git", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	patterns := "/" + strings.Join(r.Paths, "\n/") + "\n"
	return os.WriteFile(filepath.Join(info, "sparse-checkout"), []byte(patterns), 0o644)
}

// git runs a git command that checks out only chosen paths, converts no line ends, asks for no
// password, and starts nothing in the background.
func git(ctx context.Context, args ...string) error {
	ctx, stop := context.WithTimeout(ctx, gitTimeout)
	defer stop()
	var settings []string
	for _, s := range []string{"core.sparseCheckout=true", "core.sparseCheckoutCone=false", "core.autocrlf=false", "gc.auto=0", "maintenance.auto=false"} {
		settings = append(settings, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	_, err := output(cmd)
	return err
}

// output runs a command and returns what it prints. The error is its last line on standard
// error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // for children of git that outlive it
	err := cmd.Run()
	if lines := strings.Split(strings.TrimSpace(stderr.String()), "\n"); err != nil && lines[0] != "" {
		err = errors.New(lines[len(lines)-1])
	}
	return stdout.Bytes(), err
}
