package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// cluster is a control plane for these tests, which is a module of its own.
type cluster struct {
	t        *testing.T
	bin, dir string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(bin, "localcluster")); err != nil {
		t.Skip("skipped: it needs `make localcluster`")
	}
	c := &cluster{t, bin, filepath.Join(t.TempDir(), "cluster")}
	c.run("localcluster", "up", "--dir", c.dir)
	t.Cleanup(func() { _ = exec.Command(filepath.Join(bin, "localcluster"), "down", "--dir", c.dir).Run() })
	return c
}

// run runs a program and returns its output.
func (c *cluster) run(program string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"))
	out, err := cmd.Output()
	require.NoError(c.t, err, "%s %s", program, strings.Join(args, " "))
	return string(out)
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.run("localcluster", append([]string{"kubectl", "--dir", c.dir, "--"}, args...)...)
}

// account writes the files that a Pod of a ServiceAccount finds, and returns their folder
// and the address that its environment names.
func (c *cluster) account(namespace, name string) (dir, port string) {
	c.t.Helper()
	dir = c.t.TempDir()
	require.NoError(c.t, os.Chmod(dir, 0o755))
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server   string
				CAData   []byte `json:"certificate-authority-data"`
				CAFile   string `json:"certificate-authority"`
				Insecure bool   `json:"insecure-skip-tls-verify"`
			}
		}
	}
	require.NoError(c.t, json.Unmarshal([]byte(c.kubectl("config", "view", "--raw", "-o", "json")), &config))
	at := config.Clusters[0].Cluster
	ca := at.CAData
	if len(ca) == 0 {
		var err error
		ca, err = os.ReadFile(at.CAFile)
		require.NoError(c.t, err)
	}
	for file, text := range map[string]string{"token": strings.TrimSpace(c.kubectl("create", "token", name, "-n", namespace)), "namespace": namespace, "ca.crt": string(ca)} {
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return dir, at.Server[strings.LastIndex(at.Server, ":")+1:]
}

// The image applies in a cluster as a ServiceAccount with the Roles of `ordapply rbac`,
// with the arguments and the restrictions of the example's Job.
func TestImageInACluster(t *testing.T) {
	if exec.Command("docker", "version").Run() != nil {
		t.Skip("skipped: it needs a Docker engine")
	}
	out, err := exec.Command("docker", "load", "-q", "-i", filepath.Join(dist(t), "images", "ordapply_"+runtime.GOARCH+".tar")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	tag := registry + "ordapply:" + metadata(t).Version
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", tag).Run() })
	c := startCluster(t)
	example, err := filepath.Abs("../../examples/in-cluster")
	require.NoError(t, err)
	c.kubectl("create", "namespace", "ci")
	c.kubectl("create", "namespace", "shop")
	c.kubectl("create", "serviceaccount", "deployer", "-n", "ci")
	roles := filepath.Join(t.TempDir(), "roles.yaml")
	require.NoError(t, os.WriteFile(roles, []byte(c.run("ordapply", "rbac", "-f", filepath.Join(example, "app.yaml"), "-n", "ci", "--applyset", "shop", "--prune", "--service-account", "ci/deployer")), 0o600))
	c.kubectl("apply", "-f", roles)
	account, port := c.account("ci", "deployer")
	apply := func(manifests string) (string, error) {
		args := []string{"run", "--rm", "--network", "host", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "-e", "KUBERNETES_SERVICE_HOST=127.0.0.1", "-e", "KUBERNETES_SERVICE_PORT=" + port,
			"-v", account + ":/var/run/secrets/kubernetes.io/serviceaccount:ro", "-v", manifests + ":/manifests/app.yaml:ro", tag}
		out, err := exec.Command("docker", append(args, jobArguments(t, example)...)...).CombinedOutput()
		return string(out), err
	}
	printed, err := apply(filepath.Join(example, "app.yaml"))
	require.NoError(t, err, printed)
	require.Contains(t, printed, "3 ready")
	require.Equal(t, "hello", c.kubectl("get", "configmap", "settings", "-n", "shop", "-o", "jsonpath={.data.greeting}"))
	other := filepath.Join(t.TempDir(), "other.yaml")
	require.NoError(t, os.Chmod(filepath.Dir(other), 0o755))
	require.NoError(t, os.WriteFile(other, []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"), 0o644))
	printed, err = apply(other)
	require.Error(t, err, "a kind that the Roles do not have was applied")
	require.Contains(t, printed, `may not create, get, list, patch services in namespace "shop"`)
	require.Contains(t, printed, "nothing was written")
}

// jobArguments returns the arguments of the container of the example's Job.
func jobArguments(t *testing.T, example string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, "job.yaml"))
	require.NoError(t, err)
	var job struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &job))
	require.Len(t, job.Spec.Template.Spec.Containers, 1)
	return job.Spec.Template.Spec.Containers[0].Args
}
