package helmreferee

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// tool is one of the two tools with its own control plane.
type tool struct {
	name    string // helm or ordapply
	cluster *testcluster.Cluster
	helm    string // the programs
	binary  string
	home    string // the user's home, where both may store something
}

// taken is the result of a step.
type taken struct {
	sequence string
	failed   bool
	output   string
}

// take executes a step of a case.
func (u tool) take(t *testing.T, c *refereeCase, s step, roles map[auditlog.Key]role) taken {
	t.Helper()
	namespace := c.name
	maps.Copy(roles, u.roles(t, c, s))
	before, err := os.Stat(u.cluster.AuditLog())
	require.NoError(t, err)
	output, failed := u.run(t, c, s)
	requests := settled(t, func() ([]auditlog.Request, error) { return auditlog.Requests(u.cluster.AuditLog(), before.Size()) }, namespace, roles)
	return taken{sequence(requests, namespace, roles), failed, output}
}

// settled reads the requests of a step when the last of its hooks' ends is logged: a tool may
// see it, and end, before the API server logs the request that wrote it. Hooks that never end
// are not waited for longer than five seconds.
func settled(t *testing.T, read func() ([]auditlog.Request, error), namespace string, roles map[auditlog.Key]role) []auditlog.Request {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		requests, err := read()
		require.NoError(t, err)
		if !someHookRuns(requests, namespace, roles) || time.Now().After(limit) {
			return requests
		}
	}
}

func (u tool) run(t *testing.T, c *refereeCase, s step) (output string, failed bool) {
	t.Helper()
	var input []byte
	if u.name == "ordapply" && (s.verb == "install" || s.verb == "upgrade") {
		input = u.render(t, c, s)
	}
	cmd := u.command(u.binary, u.args(c, s)...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return string(out), err != nil
}

func (u tool) args(c *refereeCase, s step) []string {
	if u.name == "helm" {
		return helmArgs(c, s)
	}
	return ordapplyArgs(c, s)
}

// helmArgs returns Helm's arguments. Helm waits for templates and deletions, as
// ordapply does.
func helmArgs(c *refereeCase, s step) []string {
	args := []string{s.verb, c.name}
	switch s.verb {
	case "install":
		args = append(args, c.chart)
	case "upgrade":
		args = append(args, c.chart, "--reset-values")
	case "rollback":
		args = append(args, s.args...)
	}
	if s.undo {
		args = append(args, "--rollback-on-failure")
	}
	return append(append(args, "--namespace", c.name, "--wait=watcher", "--timeout", s.timeout), s.values...)
}

func ordapplyArgs(c *refereeCase, s step) []string {
	var args []string
	switch s.verb {
	case "install", "upgrade":
		args = []string{"apply", "-f", "-", "--applyset", c.name, "--prune"}
	case "rollback":
		args = []string{"rollback", c.name, "--to-revision", s.args[0]}
	case "uninstall":
		args = []string{"delete", "--applyset", c.name}
	}
	if s.undo {
		args = append(args, "--rollback-on-failure")
	}
	return append(args, "--namespace", c.name, "--wave-timeout", s.timeout)
}

// render returns the stream that ordapply applies.
func (u tool) render(t *testing.T, c *refereeCase, s step) []byte {
	t.Helper()
	args := append([]string{"template", c.name, c.chart, "--namespace", c.name, "--include-crds"}, s.values...)
	if s.verb == "upgrade" {
		args = append(args, "--is-upgrade")
	}
	cmd := u.command(u.helm, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return out
}

// roles maps each object that a step's chart renders to its role.
func (u tool) roles(t *testing.T, c *refereeCase, s step) map[auditlog.Key]role {
	t.Helper()
	roles := map[auditlog.Key]role{}
	if s.verb != "install" && s.verb != "upgrade" {
		return roles
	}
	for _, document := range strings.Split("\n"+string(u.render(t, c, s)), "\n---") {
		var object unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object), document)
		if object.GetKind() == "" {
			continue
		}
		key := keyOf(&object, c.name)
		_, hooked := object.GetAnnotations()["helm.sh/hook"]
		switch {
		case hooked:
			roles[key] = hook
		case roles[key] == hook: // the object is both
		case key.Namespace == "":
			roles[key] = first
		default:
			roles[key] = template
		}
	}
	return roles
}

// keyOf returns the key of an object in audit logs.
func keyOf(object *unstructured.Unstructured, namespace string) auditlog.Key {
	key := auditlog.Key{Resource: strings.ToLower(object.GetKind()) + "s", Namespace: object.GetNamespace(), Name: object.GetName()}
	switch {
	case object.GetKind() == "Namespace" || object.GetKind() == "CustomResourceDefinition":
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = namespace
	}
	return key
}

// command returns a command on the tool's control plane, without the user's
// settings.
func (u tool) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+u.cluster.Kubeconfig, "HOME="+u.home,
		"HELM_CACHE_HOME="+filepath.Join(u.home, "cache"), "HELM_CONFIG_HOME="+filepath.Join(u.home, "config"), "HELM_DATA_HOME="+filepath.Join(u.home, "data"))
	return cmd
}
