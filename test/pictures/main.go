// Command pictures draws the pictures of README.md from a run on a control plane of its own:
// a frame of the live view, from the bytes that ordapply writes on a terminal, and the page of
// the run, as Chromium shows it. Each is drawn light and dark.
//
//	go run ./test/pictures docs/pictures
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ordapply/ordapply/test/testcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := pictures(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// pictures writes the pictures into a folder.
func pictures(ctx context.Context, folder string) error {
	bin, err := testcluster.Find("localcluster")
	if err != nil {
		return errors.New("the localcluster command is missing: run make localcluster")
	}
	dir, err := os.MkdirTemp("", "ordapply-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := testcluster.Up(bin, filepath.Join(dir, "cluster"), os.Stderr, "--ready-after", "3s..6s")
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Down() }()
	report := filepath.Join(dir, "run.html")
	frame, err := record(ctx, cluster.Kubeconfig, "apply -k examples/shop --applyset shop", "--history-secrets=none -m 'open the shop' --report "+report)
	if err != nil {
		return err
	}
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		if err := os.WriteFile(filepath.Join(folder, "live-"+name+".svg"), []byte(terminalSVG(frame, dark)), 0o644); err != nil {
			return err
		}
		png, err := screenshot(ctx, report, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "report-"+name+".png"), png, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the variables of the run: of no CI system, but with the commit of the
// repository.
func environment(ctx context.Context, kubeconfig string) []string {
	commit, _ := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	return append(os.Environ(), "KUBECONFIG="+kubeconfig, "TERM=xterm-256color", "CI=", "NO_COLOR=", "GIT_COMMIT="+strings.TrimSpace(string(commit)))
}
