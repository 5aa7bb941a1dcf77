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
//go:embed go.mod go.sum oldest.mod oldest.sum cmd/etcd/main.go
var source embed.FS

// buildEnv keeps the caller's GOFLAGS and workspace out of the build: they are about another module.
func buildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
}

func buildCommand() *cobra.Command {
	var printDir bool
	var name string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all binaries into the cache, or do nothing if they exist",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := releaseNamed(name)
			if err != nil {
				return err
			}
			dir, err := binaryDir(cmd.Context(), r)
			if err != nil {
				return err
			}
			if printDir {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), dir)
				return err
			}
			return buildRelease(cmd.Context(), r, dir, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&printDir, "print-dir", false, "only print the folder of the binaries, built or not")
	releaseFlag(cmd, &name)
	return cmd
}

// binaryDir is where the binaries of this source, Go version, platform and flags belong.
func binaryDir(ctx context.Context, r release) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := buildKey(ctx, r)
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

func buildKey(ctx context.Context, r release) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	cmd.Dir, cmd.Env = os.TempDir(), buildEnv()
	version, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", withStderr(err))
	}
	hash := sha256.New()
	for _, file := range []string{r.mod, r.sum, "cmd/etcd/main.go"} {
		text, err := source.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
	}
	fmt.Fprintf(hash, "%s%q%q", version, r.buildFlags(), r.packages)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// builtBinaries is the folder of the binaries; an error says how to make them when they are not there.
func builtBinaries(ctx context.Context, r release) (string, error) {
	dir, err := binaryDir(ctx, r)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("the binaries of Kubernetes %s are not in %s: run `localcluster build --kubernetes %s` (the first time takes several minutes)", r.version, dir, r.name)
	}
	return dir, nil
}

// buildRelease builds a release, and first the latest if it shares binaries with that.
func buildRelease(ctx context.Context, r release, dir string, progress io.Writer) error {
	if len(r.shared) == 0 {
		return buildOnce(ctx, r, dir, "", progress)
	}
	shared, err := binaryDir(ctx, latest())
	if err != nil {
		return err
	}
	if err := buildOnce(ctx, latest(), shared, "", progress); err != nil {
		return err
	}
	return buildOnce(ctx, r, dir, shared, progress)
}

// buildOnce builds into a folder beside dir and renames it, so that dir is there whole or not at
// all. Two builds at once: the second waits and then finds everything done. Remains of a killed
// build are removed. Shared binaries are linked from the folder shared.
func buildOnce(ctx context.Context, r release, dir, shared string, progress io.Writer) error {
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
	if err := r.build(ctx, work, progress); err != nil {
		return err
	}
	for _, name := range r.shared {
		if err := os.Link(filepath.Join(shared, name), filepath.Join(work, "bin", name)); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(work, "bin"), dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "built in %s: %s\n", time.Since(begin).Round(time.Second), dir)
	return nil
}

// build compiles into work/bin.
func (r release) build(ctx context.Context, work string, progress io.Writer) error {
	if err := r.writeModule(work); err != nil {
		return err
	}
	total, err := r.stalePackages(ctx, work, progress)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"build", "-v"}, r.buildFlags(), []string{"-o", filepath.Join(work, "bin") + "/"}, r.packages)
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
	for _, pkg := range r.packages {
		if _, err := os.Stat(filepath.Join(work, "bin", path.Base(pkg))); err != nil {
			return fmt.Errorf("go build left no %s: %w", path.Base(pkg), err)
		}
	}
	return nil
}

// stalePackages counts the packages that the build will compile. It downloads the modules, which may take a while.
func (r release) stalePackages(ctx context.Context, work string, progress io.Writer) (int, error) {
	fmt.Fprintln(progress, "reading the modules (the first time downloads about 1 GB)")
	args := slices.Concat([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, r.buildFlags(), r.packages)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = work, buildEnv()
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", withStderr(err))
	}
	return len(strings.Fields(string(out))), nil
}

// withStderr adds the command's output, which os/exec keeps but does not print.
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
