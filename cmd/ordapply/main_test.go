package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ordapply/ordapply/internal/testcluster"
)

func TestMain(m *testing.M) {
	muteLibraries()
	testscript.Main(allTests{m}, map[string]func(){"ordapply": main, "kubectl-ordapply": main, "jobshell": jobShell})
}

// shared is the control plane of every test that has no reason for one of its
// own. What keeps namespaces from being deleted, or brings many kinds, has one.
var shared testcluster.Shared

// battered is that of the tests which break connections and kill runs: each of
// their many streams leaves a kind behind.
var battered testcluster.Shared

// allTests takes down, when they are over, what they shared.
type allTests struct{ *testing.M }

func (tests allTests) Run() int {
	code := tests.M.Run()
	if err := errors.Join(shared.Down(), battered.Down()); err != nil {
		fmt.Fprintln(os.Stderr, "take the shared clusters down:", err)
		code = 1
	}
	return code
}

// Each testdata/script/*.txtar is one behaviour, its topic first in the name.
// Scripts that begin with "cluster" run on a real control plane, which they
// share; each has a namespace of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("ORDAPPLY_GOLDEN") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "none"))
			env.Setenv("HOME", env.WorkDir)
			examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			env.Setenv("ORDAPPLY_BIN", os.Getenv("ORDAPPLY_BIN"))
			return needsCluster(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"lost":  lost,
			"page":  followPage,
			"cluster": func(ts *testscript.TestScript, _ bool, _ []string) {
				cluster := shared.Get(t)
				ts.Setenv("KUBECONFIG", cluster.Kubeconfig)
				ts.Setenv("PATH", cluster.BinDir(t)+string(filepath.ListSeparator)+ts.Getenv("PATH"))
			},
			"kubectl": func(ts *testscript.TestScript, neg bool, args []string) {
				runKubectl(ts, neg, shared.Get(t).KubectlCommand(args...))
			},
		},
	})
}

// needsCluster skips a script that runs on a control plane where there is none; in
// CI it fails.
func needsCluster(env *testscript.Env) error {
	_, err := testcluster.Find("localcluster")
	switch {
	case err == nil || !strings.HasPrefix(filepath.Base(env.WorkDir), "script-cluster"):
		return nil
	case os.Getenv("CI") != "":
		return err
	}
	env.T().Skip("skipped for want of the localcluster command (run `make localcluster`)")
	return nil
}

// exits runs a command and checks its exit code: exits 3 ordapply apply …
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, not %d", args[1:], got, want)
	}
}

func runKubectl(ts *testscript.TestScript, neg bool, command []string) {
	err := ts.Exec(command[0], command[1:]...)
	if (err != nil) != neg {
		ts.Fatalf("kubectl: %v", err)
	}
}

// followPage runs the commands that a page of docs shows, in their order: page
// state.md. What stands there as `$ command` must succeed.
func followPage(ts *testscript.TestScript, _ bool, args []string) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", args[0]))
	ts.Check(err)
	followed := 0
	for line := range strings.Lines(string(page)) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			ts.Check(ts.Exec("sh", "-c", command))
			followed++
		}
	}
	if followed == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
}
