package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// source is the module from which the binaries are built, so that the command works from any folder.
//
//go:embed go.mod go.sum cmd/etcd/main.go
var source embed.FS

// The version that the binaries report; without it kubectl cannot read the server's.
const kubernetesVersion = "v1.36.3"

func packages() []string {
	return []string{
		"k8s.io/kubernetes/cmd/kube-apiserver",
		"k8s.io/kubernetes/cmd/kube-controller-manager",
		"k8s.io/kubernetes/cmd/kube-scheduler",
		"k8s.io/kubernetes/cmd/kubectl",
		"sigs.k8s.io/kwok/cmd/kwok",
		"./cmd/etcd",
	}
}

func buildFlags() []string {
	minor := strings.Split(kubernetesVersion, ".")[1]
	return []string{"-trimpath", "-ldflags", "-s -w" +
		" -X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=" + minor +
		" -X k8s.io/client-go/pkg/version.gitVersion=" + kubernetesVersion}
}

// buildEnv keeps the caller's GOFLAGS and workspace out of the build: they are about another module.
func buildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
}

func buildCommand() *cobra.Command {
	var printDir bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all binaries into the cache, or do nothing if they exist",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := binaryDir(cmd.Context())
			if err != nil {
				return err
			}
			if printDir {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), dir)
				return err
			}
			return buildOnce(cmd.Context(), dir, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&printDir, "print-dir", false, "only print the folder of the binaries, built or not")
	return cmd
}

// binaryDir is where the binaries of this source, Go version, platform and flags belong.
func binaryDir(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := buildKey(ctx)
	return filepath.Join(cache, key), err
}

// cacheDir holds a folder of binaries for every key.
func cacheDir() (string, error) {
	if cache := os.Getenv("LOCALCLUSTER_CACHE"); cache != "" {
		return filepath.Abs(cache)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set LOCALCLUSTER_CACHE", err)
	}
	return filepath.Join(user, "ordapply-localcluster"), nil
}

func buildKey(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	cmd.Dir, cmd.Env = os.TempDir(), buildEnv()
	version, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", withStderr(err))
	}
	hash := sha256.New()
	for _, file := range []string{"go.mod", "go.sum", "cmd/etcd/main.go"} {
		text, err := source.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
	}
	fmt.Fprintf(hash, "%s%q%q", version, buildFlags(), packages())
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// builtBinaries is the folder of the binaries; an error says how to make them when they are not there.
func builtBinaries(ctx context.Context) (string, error) {
	dir, err := binaryDir(ctx)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("the binaries of this version are not in %s: run `localcluster build` (the first time takes several minutes)", dir)
	}
	return dir, nil
}

// buildOnce builds into a folder beside dir and renames it, so that dir is there whole or not at all. Two builds at
// once: the second waits and then finds everything done. What a killed build left is removed.
func buildOnce(ctx context.Context, dir string, progress io.Writer) error {
	begin := time.Now()
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		fmt.Fprintf(progress, "built already: %s\n", dir)
		return nil
	}
	work := filepath.Join(cache, "building")
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := build(ctx, work, progress); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, "bin"), dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "built in %s: %s\n", time.Since(begin).Round(time.Second), dir)
	return nil
}

// build compiles into work/bin.
func build(ctx context.Context, work string, progress io.Writer) error {
	if err := os.CopyFS(work, source); err != nil {
		return err
	}
	total, err := stalePackages(ctx, work, progress)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"build", "-v"}, buildFlags(), []string{"-o", filepath.Join(work, "bin") + "/"}, packages())
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = work, buildEnv()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	lines, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	other := report(lines, progress, total)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, other)
	}
	for _, pkg := range packages() {
		if _, err := os.Stat(filepath.Join(work, "bin", path.Base(pkg))); err != nil {
			return fmt.Errorf("go build left no %s: %w", path.Base(pkg), err)
		}
	}
	return nil
}

// stalePackages counts the packages that the build will compile. It downloads the modules, which may take a while.
func stalePackages(ctx context.Context, work string, progress io.Writer) (int, error) {
	fmt.Fprintln(progress, "reading the modules (the first time downloads about 1 GB)")
	args := slices.Concat([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, buildFlags(), packages())
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = work, buildEnv()
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", withStderr(err))
	}
	return len(strings.Fields(string(out))), nil
}

// withStderr adds what the command printed, which os/exec keeps but does not say.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// lock waits until no other process holds the file. The system lets go of it when the holder dies.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
