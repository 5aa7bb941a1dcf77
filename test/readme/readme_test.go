package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// Every sh block in the README and in docs/ is run from the top of the repository on a
// control plane, except the tutorial's, which TestTutorialPage in cmd/ordapply runs. Lines
// that start with make are part of `make check` itself.
func TestDocumentedCommandsWork(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	cluster := testcluster.Start(t)
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		commands := blocks(t, page)
		if len(commands) == 0 || filepath.Base(page) == "tutorial.md" {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			kubeconfig := inOwnNamespace(t, cluster, strings.ToLower(strings.TrimSuffix(filepath.Base(page), ".md")))
			for _, block := range commands {
				runBlock(t, root, cluster, kubeconfig, block)
			}
		})
	}
}

// blocks returns the sh blocks of a page without make lines.
func blocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var out []string
	for _, match := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		var lines []string
		for line := range strings.Lines(match[1]) {
			if !strings.HasPrefix(line, "make ") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, ""))
		}
	}
	return out
}

// inOwnNamespace creates a namespace, and a kubeconfig with it as default.
func inOwnNamespace(t *testing.T, cluster *testcluster.Cluster, name string) string {
	t.Helper()
	cluster.Kubectl(t, "create", "namespace", name)
	text, err := os.ReadFile(cluster.Kubeconfig)
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, text, 0o600))
	out, err := cluster.TryKubectl("--kubeconfig", kubeconfig, "config", "set-context", "--current", "--namespace", name)
	require.NoError(t, err, out)
	return kubeconfig
}

func runBlock(t *testing.T, root string, cluster *testcluster.Cluster, kubeconfig, block string) {
	t.Helper()
	bin, err := testcluster.Find("ordapply")
	require.NoError(t, err, "run make build")
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", block)
	cmd.Dir = root
	folders := []string{filepath.Dir(bin), cluster.BinDir(t), os.Getenv("PATH")}
	if strings.Contains(block, "helm ") {
		folders = append(folders, helm(t))
	}
	path := strings.Join(folders, string(filepath.ListSeparator))
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", block, out)
}

// helm returns a folder that contains, as helm, the Helm that `make test`
// builds.
func helm(t *testing.T) string {
	t.Helper()
	built, err := testcluster.Find("helm-referee")
	if err != nil {
		testcluster.Skip(t, "helm (run `make helm-referee`)")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(built, filepath.Join(dir, "helm")))
	return dir
}
