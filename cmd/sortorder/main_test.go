package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sortorder": main})
}

// TestScripts runs testdata/script/*.txtar. A script whose name starts with a
// tool (kustomize_...) needs that tool and is skipped without it.
func TestScripts(t *testing.T) {
	image := sync.OnceValue(func() bool { return buildImage(t) })
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("ORDAPPLY_GOLDEN") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"full": full},
		Condition: func(tool string) (bool, error) {
			if tool == "container" {
				return image(), nil
			}
			return hasTool(tool)
		},
		Setup: func(env *testscript.Env) error {
			folder, err := filepath.Abs(cases)
			if err != nil {
				return err
			}
			env.Setenv("CASES", folder)
			dir := filepath.Join(env.WorkDir, ".peers")
			env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			return linkPeers(dir)
		},
	})
}

// full runs a command on app.yaml with standard output on a full device, and
// checks that it reports the error: full sortorder strip.
func full(ts *testscript.TestScript, _ bool, args []string) {
	if _, err := os.Stat("/dev/full"); err != nil {
		return
	}
	err := ts.Exec("sh", append([]string{"-c", `test -c /dev/full && exec "$@" <app.yaml >/dev/full`, "sh"}, args...)...)
	if err == nil || !strings.Contains(ts.ReadFile("stderr"), "sortorder: write stdout: ") {
		ts.Fatalf("%v does not say that its output was lost: %v", args, err)
	}
}

// buildImage builds the container image if a Docker engine is available; not with -short,
// because it compiles the program once more.
func buildImage(t *testing.T) bool {
	if testing.Short() || exec.Command("docker", "version").Run() != nil {
		return false
	}
	out, err := exec.Command("make", "-C", "../..", "image", "IMAGE=ordapply/sortorder:test").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return true
}

// hasTool reports whether a script that needs the tool can run. kpt cannot be
// built from source here: it is used if it is installed.
func hasTool(tool string) (bool, error) {
	if slices.Contains(peers(), tool) {
		return toolPath(tool) != "", nil
	}
	_, err := exec.LookPath(tool)
	return err == nil, nil
}

// peers returns the tools built from source that scripts use.
func peers() []string { return []string{"kustomize"} }

// linkPeers creates a folder with the peers only: next to them is an older
// sortorder.
func linkPeers(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for _, tool := range peers() {
		at := toolPath(tool)
		if at == "" {
			continue
		}
		if err := os.Symlink(at, filepath.Join(dir, tool)); err != nil {
			return err
		}
	}
	return nil
}

// TestTools fails if a required tool is missing.
func TestTools(t *testing.T) {
	if toolPath("kustomize") != "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("kustomize is missing: make kustomize")
	}
	t.Skip("the scripts kustomize_* are skipped: make kustomize")
}

// toolPath returns the path of a built peer, in $ORDAPPLY_BIN or the bin folder
// of the project, or "".
func toolPath(tool string) string {
	dir := os.Getenv("ORDAPPLY_BIN")
	if dir == "" {
		dir = "../../bin"
	}
	at, err := filepath.Abs(filepath.Join(dir, tool))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(at); err != nil || info.IsDir() {
		return ""
	}
	return at
}
