package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// scratch is a folder for the whole run.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "localcluster-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// program is the built localcluster: it starts itself again for every component, which a test binary cannot.
var program = sync.OnceValues(func() (string, error) {
	file := filepath.Join(scratch, "localcluster")
	out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})

// built is the program, also in a cleanup, on a machine where the control plane is built.
func built(t *testing.T) string {
	t.Helper()
	r, err := releaseNamed("")
	require.NoError(t, err)
	if _, err := builtBinaries(context.Background(), r); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err)
		}
		t.Skipf("%s skipped: the control plane is not built: run `make localcluster`", t.Name())
	}
	file, err := program()
	require.NoError(t, err)
	return file
}

// localcluster runs the program and returns its standard output.
func localcluster(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(built(t), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "localcluster %s: %s", strings.Join(args, " "), &stderr)
	return string(out)
}

// folder is where a test keeps a cluster that is gone when the test ends, however it ends.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	t.Cleanup(func() { localcluster(t, "down", "--dir", dir) })
	return dir
}

// TestScripts: each script starts the clusters it needs.
func TestScripts(t *testing.T) {
	program := built(t)
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: func(env *testscript.Env) error { return setup(env, program) },
	})
}

// TestPods: the scripts share a cluster, each in a namespace with its name. There, kubectl is the cluster's.
func TestPods(t *testing.T) {
	program := built(t)
	dir := folder(t)
	begin := time.Now()
	localcluster(t, "up", "--dir", dir)
	t.Logf("ready after %s", time.Since(begin))
	kubeconfig, err := os.ReadFile(filepath.Join(dir, "kubeconfig"))
	require.NoError(t, err)
	t.Run("scripts", func(t *testing.T) { // ends after its parallel scripts, before the cluster does
		testscript.Run(t, testscript.Params{
			Dir: "testdata/pods",
			Setup: func(env *testscript.Env) error {
				if err := setup(env, program); err != nil {
					return err
				}
				namespace := strings.ReplaceAll(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"), "_", "-")
				own := strings.Replace(string(kubeconfig), "context: {", "context: {namespace: "+namespace+", ", 1)
				env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
				env.Setenv("NAMESPACE", namespace)
				env.Setenv("CLUSTER", dir)
				localcluster(t, "kubectl", "--dir", dir, "--", "create", "namespace", namespace)
				return os.WriteFile(env.Getenv("KUBECONFIG"), []byte(own), 0o600)
			},
		})
	})
	t.Run("stages play once", func(t *testing.T) { stagesPlayOnce(t, dir) })
}

// stagesPlayOnce: also when many Pods start at once, and kwok sees events late, each is started and made ready once.
// They are on the host's network: else the server itself refuses a second start, for its second address.
func stagesPlayOnce(t *testing.T, dir string) {
	kubectl := func(args ...string) { localcluster(t, append([]string{"kubectl", "--dir", dir, "--"}, args...)...) }
	kubectl("create", "deployment", "many", "--image=app:1", "--replicas=0")
	kubectl("patch", "deployment", "many", "--patch", `{"spec": {"replicas": 300, "template": {"spec": {"hostNetwork": true}}}}`)
	kubectl("rollout", "status", "deployment/many", "--timeout=120s")
	log, err := os.Open(filepath.Join(dir, auditLog))
	require.NoError(t, err)
	defer log.Close()
	patches := map[string]int{}
	for lines := json.NewDecoder(log); ; {
		var e struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := lines.Decode(&e); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		if e.User.Username == "kwok" && e.Verb == "patch" && e.ObjectRef.Resource == "pods" && e.ResponseStatus.Code == 200 &&
			strings.HasPrefix(e.ObjectRef.Name, "many-") {
			patches[e.ObjectRef.Name]++
		}
	}
	require.Len(t, patches, 300)
	for pod, n := range patches {
		require.Equal(t, 2, n, pod)
	}
}

// setup puts localcluster and the kubectl of the control plane on the script's PATH, and takes down
// the remains of a failed script.
func setup(env *testscript.Env, program string) error {
	out, err := exec.Command(program, "build", "--print-dir").Output()
	if err != nil {
		return err
	}
	path := []string{filepath.Dir(program), strings.TrimSpace(string(out)), env.Getenv("PATH")}
	env.Setenv("PATH", strings.Join(path, string(filepath.ListSeparator)))
	env.Setenv("HOME", env.WorkDir)
	env.Defer(func() {
		marks, _ := filepath.Glob(filepath.Join(env.WorkDir, "*", clusterFile))
		for _, mark := range marks {
			_ = exec.Command(program, "down", "--dir", filepath.Dir(mark)).Run()
		}
	})
	for _, name := range []string{"LOCALCLUSTER_CACHE", "GOCACHE", "GOMODCACHE"} {
		env.Setenv(name, os.Getenv(name))
	}
	// The go command keeps its caches and counters where they are, not in the script's folder.
	cache, err := os.UserCacheDir()
	env.Setenv("XDG_CACHE_HOME", cache)
	if err != nil {
		return err
	}
	config, err := os.UserConfigDir()
	env.Setenv("XDG_CONFIG_HOME", config)
	return err
}
