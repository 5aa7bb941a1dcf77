package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/test/testcluster"
)

// planMark begins each comment.
const planMark = "<!-- ordapply plan -->"

// The scripts of the GitHub action and of docs/ci.md are run on a control plane as their
// engines run them, with programs in the place of gh and curl that record the requests.
func TestPipelines(t *testing.T) {
	cluster := testcluster.Start(t)
	t.Run("github", func(t *testing.T) { testGitHub(t, newPipeline(t, cluster, "github")) })
	t.Run("gitlab", func(t *testing.T) { testGitLab(t, newPipeline(t, cluster, "gitlab")) })
	t.Run("tekton", func(t *testing.T) { testTekton(t, newPipeline(t, cluster, "tekton")) })
	t.Run("plan-only", func(t *testing.T) { testPlanOnly(t, newPipeline(t, cluster, "plan-only")) })
}

// step is a step of a GitHub action or of a Tekton Task.
type step struct {
	Name, If, Shell, Run, Uses string
	Env, With                  map[string]string
	Image, WorkingDir          string
	Args                       []string
	StdoutConfig               struct{ Path string }
}

func testGitHub(t *testing.T, p *pipeline) {
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description, Default string
			Required             bool
		}
		Runs struct {
			Using string
			Steps []step
		}
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(readPage(t, filepath.Join(p.root, "action.yml"))), &action))
	require.Equal(t, "composite", action.Runs.Using)
	p.program("gh", `case "$*" in
*graphql*) echo 'ci[bot]' ;;
*--jq*) jq --raw-output "${!#}" "$TEST_DIR/comments.json" ;;
*) last=${!#}; printf '%s\n' "$*" > "$TEST_DIR/request"; cat "${last#body=@}" > "$TEST_DIR/comment" ;;
esac`)
	run := func(name string, env ...string) (string, error) {
		for _, s := range action.Runs.Steps {
			if s.Name == name {
				require.Equal(t, "bash", s.Shell, "GitHub runs it with bash -eo pipefail")
				for key := range s.Env {
					require.Regexp(t, "(?m)^"+key+"=", strings.Join(env, "\n"), "a variable of the step %s", name)
				}
				return p.bash(s.Run, env...)
			}
		}
		require.Fail(t, "action.yml has no step "+name)
		return "", nil
	}
	temp := "RUNNER_TEMP=" + p.dir
	arguments := "ARGUMENTS=-k deploy --applyset shop\n  --prune"

	out, err := run("Check the inputs", "COMMAND=destroy")
	require.Error(t, err)
	require.Equal(t, "::error::the input \"command\" is \"plan\" or \"apply\", not destroy\n", out)
	require.NoError(t, os.Symlink(p.ordapply, filepath.Join(p.dir, "ordapply")))

	summary := filepath.Join(p.dir, "summary")
	out, err = run("Plan", temp, arguments, "GITHUB_STEP_SUMMARY="+summary)
	require.NoError(t, err, out)
	require.Contains(t, p.read("summary"), planMark)
	token := regexp.MustCompile(`^::stop-commands::([0-9a-f]{32})\n`).FindStringSubmatch(out)
	require.NotNil(t, token, out)
	require.True(t, strings.HasSuffix(out, "\n::"+token[1]+"::\n"), out)

	if _, err := exec.LookPath("jq"); err != nil {
		testcluster.Skip(t, "jq")
	}
	earlier := func(comments string) {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "comments.json"), []byte(comments), 0o600))
	}
	// another bot repeats people's texts, and so can people
	others := `{"id": 40, "user": {"login": "echo[bot]", "type": "Bot"}, "body": "<!-- ordapply plan -->"}, {"id": 41, "user": {"login": "eve", "type": "User"}, "body": "<!-- ordapply plan -->"}`
	earlier("[" + others + "]")
	comment := []string{temp, "GH_TOKEN=x", "PULL_REQUEST=7", "GITHUB_REPOSITORY=o/r"}
	out, err = run("Comment on the pull request", comment...)
	require.NoError(t, err, out)
	require.Contains(t, p.read("request"), "api --silent repos/o/r/issues/7/comments --field body=@")
	require.Equal(t, p.read("summary"), p.read("comment"))
	earlier("[" + others + `, {"id": 42, "user": {"login": "ci[bot]"}, "body": "LGTM"}, {"id": 43, "user": {"login": "ci[bot]"}, "body": "<!-- ordapply plan -->\nold"}]`)
	out, err = run("Comment on the pull request", comment...)
	require.NoError(t, err, out)
	require.Contains(t, p.read("request"), "--method PATCH repos/o/r/issues/comments/43 --field body=@")

	p.requireApplied(false)
	out, err = run("Apply", temp, arguments)
	require.NoError(t, err, out)
	p.requireApplied(true)
	out, err = run("Plan", temp, "ARGUMENTS=-k $(touch evaluated)", "GITHUB_STEP_SUMMARY="+summary)
	require.Error(t, err, out)
	require.NoFileExists(t, filepath.Join(p.dir, "evaluated"), "arguments are not evaluated")

	// The page passes inputs that the action has, and all that it requires.
	page := yamlBlock(t, p, "# .github/workflows/deploy.yml")
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Environment string
			Permissions map[string]string
			Steps       []step
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(page), &workflow))
	require.Empty(t, workflow.Permissions, "each job has its own")
	for name, job := range workflow.Jobs {
		used := job.Steps[len(job.Steps)-1]
		require.Equal(t, "ordapply/ordapply@COMMIT", used.Uses)
		require.Equal(t, name, used.With["command"])
		for name, input := range action.Inputs {
			require.True(t, !input.Required || used.With[name] != "", "input %s", name)
			require.NotEmpty(t, input.Description)
		}
		for name := range used.With {
			require.Contains(t, action.Inputs, name)
		}
	}
	plan, apply := workflow.Jobs["plan"], workflow.Jobs["apply"]
	require.NotEqual(t, plan.Environment, apply.Environment, "each has an account of its own")
	require.Equal(t, map[string]string{"contents": "read", "pull-requests": "write"}, plan.Permissions)
	require.Equal(t, map[string]string{"contents": "read"}, apply.Permissions)
}

func testGitLab(t *testing.T, p *pipeline) {
	type job struct {
		Script    []string
		Artifacts struct{ Paths []string }
	}
	var jobs map[string]job
	require.NoError(t, yaml.Unmarshal([]byte(yamlBlock(t, p, "# .gitlab-ci.yml")), &jobs))
	p.program("curl", `printf '%s\n' "$@" > "$TEST_DIR/request"; cat > "$TEST_DIR/config"`)
	script := func(name string) {
		out, err := p.bash(strings.Join(jobs[name].Script, "\n"), "GITLAB_TOKEN=glpat-x", "CI_API_V4_URL=https://gitlab.example/api/v4", "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7")
		require.NoError(t, err, out)
		for _, artifact := range jobs[name].Artifacts.Paths {
			require.FileExists(t, filepath.Join(p.dir, artifact))
		}
	}
	script("plan")
	require.Contains(t, p.read("plan.md"), planMark)
	require.Equal(t, "header = \"PRIVATE-TOKEN: glpat-x\"\n", p.read("config"))
	require.NotContains(t, p.read("request"), "glpat-x", "other processes see a command line")
	require.Contains(t, p.read("request"), "body@plan.md\nhttps://gitlab.example/api/v4/projects/3/merge_requests/7/notes\n")
	p.requireApplied(false)
	script("apply")
	p.requireApplied(true)
}

func testTekton(t *testing.T, p *pipeline) {
	tasks := strings.Split(yamlBlock(t, p, "apiVersion: tekton.dev/v1"), "---\n")
	require.Len(t, tasks, 2)
	for n, text := range tasks {
		var task struct {
			Spec struct {
				Params []struct{ Default []string }
				Steps  []step
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &task))
		require.Len(t, task.Spec.Steps, 1)
		s := task.Spec.Steps[0]
		var args []string
		for _, arg := range s.Args { // as Tekton replaces an array
			if arg == "$(params.arguments[*])" {
				args = append(args, task.Spec.Params[0].Default...)
			} else {
				args = append(args, arg)
			}
		}
		cmd := exec.Command(p.ordapply, args...)
		cmd.Dir = strings.ReplaceAll(s.WorkingDir, "$(workspaces.source.path)", p.dir)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		if n == 0 {
			require.Equal(t, "$(workspaces.source.path)/plan.md", s.StdoutConfig.Path)
			require.Contains(t, string(out), planMark)
		}
		p.requireApplied(n == 1)
	}
}

// The policy of the page lets the account that plans do so, and write nothing.
func testPlanOnly(t *testing.T, p *pipeline) {
	file := filepath.Join(p.dir, "policy.yaml")
	policy := yamlBlock(t, p, "apiVersion: admissionregistration.k8s.io/v1")
	require.NoError(t, os.WriteFile(file, []byte(policy+"---\n"+planner), 0o600))
	out, err := p.cluster.TryKubectl("--kubeconfig", p.kubeconfig, "apply", "-f", file)
	require.NoError(t, err, out)
	const set = " -k deploy --applyset shop --prune --as system:serviceaccount:ci:plan"
	require.Eventually(t, func() bool { // a policy takes a moment to be in force
		out, err := p.cluster.TryKubectl("--kubeconfig", p.kubeconfig, "create", "configmap", "probe", "--dry-run=none", "--as=system:serviceaccount:ci:plan")
		_, _ = p.cluster.TryKubectl("--kubeconfig", p.kubeconfig, "delete", "configmap", "probe", "--ignore-not-found")
		return err != nil && strings.Contains(out, "this account may only plan")
	}, time.Minute, time.Second)
	out, err = p.bash("ordapply plan" + set)
	require.NoError(t, err, out)
	require.Contains(t, out, "create     ConfigMap ci-plan-only/shop")
	out, err = p.bash("ordapply apply" + set)
	require.Error(t, err, out)
	require.Contains(t, out, "this account may only plan")
	p.requireApplied(false)
}

// planner lets the account that plans do everything that the policy does not refuse.
const planner = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ci-plan}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: "system:serviceaccount:ci:plan"}]
`

// pipeline is a folder with a kustomization `deploy`, for a namespace of its own.
type pipeline struct {
	t                               *testing.T
	cluster                         *testcluster.Cluster
	root, dir, kubeconfig, ordapply string
}

func newPipeline(t *testing.T, cluster *testcluster.Cluster, name string) *pipeline {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	program, err := testcluster.Find("ordapply")
	require.NoError(t, err, "run make build")
	p := &pipeline{t: t, cluster: cluster, root: root, dir: t.TempDir(), kubeconfig: inOwnNamespace(t, cluster, "ci-"+name), ordapply: program}
	deploy := filepath.Join(p.dir, "deploy")
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "bin"), 0o700))
	require.NoError(t, os.MkdirAll(deploy, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(deploy, "kustomization.yaml"), []byte("resources: [app.yaml]\n"), 0o600))
	app := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {a: \"1\"}\n"
	require.NoError(t, os.WriteFile(filepath.Join(deploy, "app.yaml"), []byte(app), 0o600))
	return p
}

// program puts a script into the PATH of the jobs.
func (p *pipeline) program(name, script string) {
	path := filepath.Join(p.dir, "bin", name)
	require.NoError(p.t, os.WriteFile(path, []byte("#!/bin/bash\nset -eu\n"+script+"\n"), 0o700))
}

func (p *pipeline) bash(script string, env ...string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = p.dir
	path := fmt.Sprintf("PATH=%s:%s:%s", filepath.Join(p.dir, "bin"), filepath.Dir(p.ordapply), os.Getenv("PATH"))
	cmd.Env = append(append(os.Environ(), path, "TEST_DIR="+p.dir, "KUBECONFIG="+p.kubeconfig), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *pipeline) read(name string) string { return readPage(p.t, filepath.Join(p.dir, name)) }

// requireApplied checks whether the ConfigMap of the kustomization is there.
func (p *pipeline) requireApplied(wanted bool) {
	p.t.Helper()
	out, err := p.cluster.TryKubectl("--kubeconfig", p.kubeconfig, "get", "configmap", "shop", "--ignore-not-found", "-o", "name")
	require.NoError(p.t, err, out)
	require.Equal(p.t, wanted, strings.TrimSpace(out) == "configmap/shop", out)
}

// yamlBlock returns the yaml block of docs/ci.md that begins with a line.
func yamlBlock(t *testing.T, p *pipeline, first string) string {
	t.Helper()
	page := readPage(t, filepath.Join(p.root, "docs", "ci.md"))
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(block[1], first+"\n") {
			return block[1]
		}
	}
	require.Fail(t, "docs/ci.md has no block "+first)
	return ""
}

// Code with credentials in reach is pinned: an action by its commit, an image by its digest.
// The placeholders of the page say what to fill in.
func TestWhatRunsIsPinned(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "action.yml"), filepath.Join(root, "docs", "ci.md")}
	workflows, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, workflows)
	found := 0
	for _, page := range append(pages, workflows...) {
		text := readPage(t, page)
		for _, uses := range regexp.MustCompile(`(?m)^[ -]*uses: *(.*)$`).FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `^[\w./-]+@([0-9a-f]{40} # v\d+\.\d+\.\d+|COMMIT # VERSION)$`, uses[1], page)
			found++
		}
		for _, image := range regexp.MustCompile(`(?m)^[ -]*image: *(.*)$`).FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `@sha256:([0-9a-f]{64}|DIGEST)$`, image[1], page)
			found++
		}
		require.NotRegexp(t, `@(latest|main|master)\b`, text, page)
	}
	require.Greater(t, found, 8)
}

// The page on installing verifies the workflow's signatures and attestations, by the
// workflow's name.
func TestAReleaseCanBeVerified(t *testing.T) {
	root := filepath.Join("..", "..")
	var release struct {
		Checksum struct {
			Name string `json:"name_template"`
		}
		Signs []struct {
			Artifacts, Signature string
			Args                 []string
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(readPage(t, filepath.Join(root, ".goreleaser.yaml"))), &release))
	require.Len(t, release.Signs, 1)
	require.Equal(t, "checksum", release.Signs[0].Artifacts)
	signature := strings.Replace(release.Signs[0].Signature, "${artifact}", release.Checksum.Name, 1)
	page := readPage(t, filepath.Join(root, "docs", "install.md"))
	require.Contains(t, page, "cosign verify-blob --bundle "+signature+" ")
	const file = ".github/workflows/release.yml"
	require.Contains(t, page, "--certificate-identity https://github.com/ordapply/ordapply/"+file+"@refs/tags/v1.0.0")
	require.Contains(t, page, "--signer-workflow ordapply/ordapply/"+file)
	workflow := readPage(t, filepath.Join(root, file))
	for _, needed := range []string{"id-token: write", "attestations: write", "run: make release\n", "cosign sign --yes", "{subject-checksums: bin/release/" + release.Checksum.Name + "}", "{subject-checksums: bin/release/images/digests.txt}"} {
		require.Contains(t, workflow, needed)
	}
	var parsed map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(workflow), &parsed))
	require.Empty(t, parsed["permissions"], "the job has its own")
}
