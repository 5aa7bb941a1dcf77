// Package binaries builds the programs of Flux and Argo CD, and keeps them in a folder of
// the user's cache that is named after their sources: a new clone of the same versions has
// them at once.
//
//	dir, err := binaries.Flux().Dir("flux")
//	exec.Command(filepath.Join(dir, "kustomize-controller"))
package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Engine is the build of a module that pins an engine's versions.
type Engine struct {
	Name     string
	Programs map[string]string // their packages by name
	CRDs     map[string]string // folders with CRDs, below folders of modules, by name
}

// Flux is Flux's controllers, and a registry that they read from.
func Flux() Engine {
	const fluxcd = "github.com/fluxcd/"
	return Engine{
		Name:     "flux",
		Programs: map[string]string{"source-controller": fluxcd + "source-controller", "kustomize-controller": fluxcd + "kustomize-controller", "registry": "github.com/google/go-containerregistry/cmd/registry"},
		CRDs:     map[string]string{fluxcd + "source-controller": "config/crd", fluxcd + "kustomize-controller": "config/crd"},
	}
}

// ArgoCD is Argo CD, all of whose programs are one.
func ArgoCD() Engine {
	const argo = "github.com/argoproj/argo-cd/v3"
	return Engine{Name: "argocd", Programs: map[string]string{"argocd": argo + "/cmd"}, CRDs: map[string]string{argo: "manifests/crds"}}
}

// flags are the flags of each build.
func flags() []string { return []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"} }

// Dir returns the folder of the binaries and CRDs, built or not, for the module in a folder.
func (e Engine) Dir(module string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	version, err := e.run(module, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s%q%v%v", version, flags(), e.Programs, e.CRDs)
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
	}
	return filepath.Join(cache, e.Name+"-"+hex.EncodeToString(hash.Sum(nil))[:16]), nil
}

// cacheDir has a folder for every key.
func cacheDir() (string, error) {
	if cache := os.Getenv("ORDAPPLY_ENGINES_CACHE"); cache != "" {
		return filepath.Abs(cache)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set ORDAPPLY_ENGINES_CACHE", err)
	}
	return filepath.Join(user, "ordapply-engines"), nil
}

// Build builds missing programs. The folder is there whole or not at all: a build goes into
// a folder beside it, which is then renamed. Of two builds at once, one waits for the other.
func (e Engine) Build(ctx context.Context, module string, progress io.Writer) error {
	dir, err := e.Dir(module)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(dir), e.Name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		fmt.Fprintf(progress, "built already: %s\n", dir)
		return nil
	}
	begin := time.Now()
	work := filepath.Join(filepath.Dir(dir), e.Name+".building")
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, name := range slices.Sorted(maps.Keys(e.Programs)) {
		fmt.Fprintf(progress, "building %s\n", name)
		cmd := exec.CommandContext(ctx, "go", append(flags(), "-o", filepath.Join(work, name), e.Programs[name])...)
		cmd.Dir, cmd.Env, cmd.Stderr = module, environment(), progress
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	if err := e.copyCRDs(module, work); err != nil {
		return err
	}
	if err := os.Rename(work, dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "built in %s: %s\n", time.Since(begin).Round(time.Second), dir)
	return nil
}

// copyCRDs copies the CRDs of the modules: the cache of modules may be emptied.
func (e Engine) copyCRDs(module, work string) error {
	for name, folder := range e.CRDs {
		from, err := e.run(module, "list", "-m", "-f", "{{.Dir}}", name)
		if err != nil {
			return err
		}
		if err := os.CopyFS(crdDir(work, name), os.DirFS(filepath.Join(strings.TrimSpace(from), filepath.FromSlash(folder)))); err != nil {
			return fmt.Errorf("copy the CRDs of %s: %w", name, err)
		}
	}
	return nil
}

// crdDir is where the CRDs of a module are below a folder of binaries.
func crdDir(dir, module string) string {
	return filepath.Join(dir, "crds", strings.ReplaceAll(module, "/", "_"))
}

// CRDFolders returns the folders with CRDs below a folder of binaries.
func (e Engine) CRDFolders(dir string) []string {
	var out []string
	for _, module := range slices.Sorted(maps.Keys(e.CRDs)) {
		out = append(out, crdDir(dir, module))
	}
	return out
}

// run runs the go command on the module.
func (e Engine) run(module string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = module, environment()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, exit.Stderr)
	}
	return string(out), err
}

// environment keeps the caller's flags and workspace out of the build: they are about
// another module.
func environment() []string { return append(os.Environ(), "GOFLAGS=", "GOWORK=off") }

// lock waits until no other process has the file locked. The system unlocks it when the
// process ends.
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
