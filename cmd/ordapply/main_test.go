package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ordapply/ordapply/internal/cli/kustomize"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

func TestMain(m *testing.M) {
	discardLibraryLogs()
	if len(os.Args) == 2 && os.Args[1] == kustomize.FunctionArgument { // by which kustomize runs this program, under any name
		main()
	}
	testscript.Main(allTests{m}, map[string]func(){"ordapply": main, "kubectl-ordapply": main, "jobshell": jobShell})
}

// shared is the control plane of all tests that do not need their own. Tests
// that block the deletion of namespaces, or create many kinds, have their own.
var shared testcluster.Shared

// battered is the control plane of tests that break connections and kill runs:
// each of their many streams leaves a kind behind.
var battered testcluster.Shared

// allTests stops the shared control planes at the end.
type allTests struct{ *testing.M }

func (tests allTests) Run() int {
	code := tests.M.Run()
	if err := errors.Join(shared.Down(), battered.Down()); err != nil {
		fmt.Fprintln(os.Stderr, "take the shared clusters down:", err)
		code = 1
	}
	return code
}

// Each testdata/script/*.txtar tests one behaviour; its name starts with the
// topic. Scripts whose name starts with "cluster" share a real control plane; each has its
// own namespace. One that breaks the others' assumptions, such as that every kind is
// served, says `cluster own` and gets its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("ORDAPPLY_GOLDEN") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "none"))
			env.Setenv("HOME", env.WorkDir)
			root, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("CASES", filepath.Join(root, "testdata"))
			env.Setenv("ORDAPPLY_BIN", os.Getenv("ORDAPPLY_BIN"))
			env.Values[clusterKey{}] = new(*testcluster.Cluster)
			return needsCluster(env)
		},
		Condition: hasTool,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"lost":  lost,
			"shows": shows,
			"page":  followPage,
			"unwritten": func(ts *testscript.TestScript, neg bool, args []string) {
				unwritten(ts, neg, clusterOf(ts).AuditLog(), args[0])
			},
			"cluster": func(ts *testscript.TestScript, _ bool, args []string) {
				if slices.Equal(args, []string{"own"}) {
					useCluster(t, ts, ownCluster(ts))
				} else {
					useCluster(t, ts, shared.Get(t))
				}
			},
			"established": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(clusterOf(ts).TryEstablished(args...))
			},
			"tool": useTool,
			"kubectl": func(ts *testscript.TestScript, neg bool, args []string) {
				runKubectl(ts, neg, clusterOf(ts).KubectlCommand(args...))
			},
		},
	})
}

// clusterKey is the key of a script's control plane among its values.
type clusterKey struct{}

func useCluster(t *testing.T, ts *testscript.TestScript, cluster *testcluster.Cluster) {
	*ts.Value(clusterKey{}).(**testcluster.Cluster) = cluster
	ts.Setenv("KUBECONFIG", cluster.Kubeconfig)
	ts.Setenv("PATH", cluster.BinDir(t)+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// clusterOf returns the control plane of a script, which said `cluster` before.
func clusterOf(ts *testscript.TestScript) *testcluster.Cluster {
	cluster := *ts.Value(clusterKey{}).(**testcluster.Cluster)
	if cluster == nil {
		ts.Fatalf("the script needs `cluster` before this command")
	}
	return cluster
}

// hasTool reports the condition tool:NAME, whether make built a program of another project; in
// CI it must have: [!tool:kapp] skip 'it needs kapp (run `make emit-peers`)'
func hasTool(cond string) (bool, error) {
	name, ok := strings.CutPrefix(cond, "tool:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	_, err := testcluster.Find(name)
	if os.Getenv("CI") != "" {
		return err == nil, err
	}
	return err == nil, nil
}

// useTool makes such a program available under a name of its own, which Helm and kapp take as
// their field manager: tool helm-referee helm.
func useTool(ts *testscript.TestScript, _ bool, args []string) {
	bin, err := testcluster.Find(args[0])
	ts.Check(err)
	dir := ts.MkAbs(".tools")
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.Symlink(bin, filepath.Join(dir, args[1])))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// ownCluster runs a control plane until the script ends.
func ownCluster(ts *testscript.TestScript) *testcluster.Cluster {
	bin, err := testcluster.Find("localcluster")
	ts.Check(err)
	dir, err := os.MkdirTemp("", "ordapply-test-")
	ts.Check(err)
	cluster, err := testcluster.Up(bin, filepath.Join(dir, "cluster"), io.Discard)
	ts.Check(err)
	ts.Defer(func() {
		ts.Check(errors.Join(cluster.Down(), os.RemoveAll(dir)))
	})
	return cluster
}

// needsCluster skips a script that needs a control plane if there is none; in
// CI it fails.
func needsCluster(env *testscript.Env) error {
	_, err := testcluster.Find("localcluster")
	switch {
	case err == nil || !strings.HasPrefix(filepath.Base(env.WorkDir), "script-cluster"):
		return nil
	case os.Getenv("CI") != "":
		return err
	}
	env.T().Skip("skipped: it needs the localcluster command (run `make localcluster`)")
	return nil
}

// shows waits until a file, which a command in the background writes, has a match of a
// regular expression: shows run.txt 'waiting: .*'
func shows(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[1])
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		switch {
		case pattern.Match(text):
			return
		case time.Now().After(deadline):
			ts.Fatalf("no match for %#q in %s after 5 minutes: %v\n%s", args[1], args[0], err, text)
		}
	}
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

// unwritten takes the API server's word for it that ordapply sent no request that
// writes into a namespace, not even one that was refused: unwritten shop. The
// namespace's own creation must be in the log.
func unwritten(ts *testscript.TestScript, neg bool, path, namespace string) {
	log, err := auditlog.Read(path)
	ts.Check(err)
	if _, known := log.Created[auditlog.Key{Resource: "namespaces", Name: namespace}]; !known {
		ts.Fatalf("the audit log has no creation of namespace %s", namespace)
	}
	at := slices.IndexFunc(log.Sent, func(w auditlog.Write) bool { return w.Namespace == namespace })
	switch written := at >= 0; {
	case written && !neg:
		ts.Fatalf("ordapply sent into namespace %s: %+v", namespace, log.Sent[at])
	case !written && neg:
		ts.Fatalf("ordapply sent nothing into namespace %s", namespace)
	}
}

func runKubectl(ts *testscript.TestScript, neg bool, command []string) {
	err := ts.Exec(command[0], command[1:]...)
	if (err != nil) != neg {
		ts.Fatalf("kubectl: %v", err)
	}
}

// followPage runs the commands of a page in docs, in order: page state.md.
// Lines with `$ command` must succeed.
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
