package plan

import (
	"os"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/object"
)

// Each flag of plan is either stored in plan files, or selects a cluster,
// starts a build, or controls output. A new flag must be added to one list.
func TestEveryFlagOfPlanIsKeptOrNot(t *testing.T) {
	neither := append(buildFlags(),
		"out", "output", "comment-size", "dry-run", "help", // output
		"kubeconfig", "context", "cluster", "server", "tls-server-name", "certificate-authority", "insecure-skip-tls-verify", "request-timeout", "disable-compression", "cache-dir",
		"user", "token", "client-certificate", "client-key", "as", "as-group", "as-uid", "as-user-extra")
	NewPlan().Flags().VisitAll(func(flag *pflag.Flag) {
		kept, not := slices.Contains(StoredFlags(), flag.Name), slices.Contains(neither, flag.Name)
		require.NotEqual(t, kept, not, "--%s", flag.Name)
	})
	for _, name := range StoredFlags() {
		require.NotNil(t, NewPlan().Flags().Lookup(name), name)
	}
}

// A plan file contains nothing that may be a credential.
func TestNoCredentialIsKept(t *testing.T) {
	for from, want := range map[string]string{
		"https://jane:hunter2@example.com/app.yaml":    "https://xxxxx@example.com/app.yaml",
		"https://hunter2@example.com/app.yaml":         "https://xxxxx@example.com/app.yaml",
		"https://example.com/app.yaml?token=hunter2":   "https://example.com/app.yaml?xxxxx",
		"https://example.com/app.yaml#hunter2":         "https://example.com/app.yaml",
		"HTTPS://jane:hunter2%zz@example.com/app.yaml": "HTTPS://xxxxx",
		"https://example.com/app.yaml":                 "https://example.com/app.yaml",
		"a?token=b.yaml":                               "a?token=b.yaml",
		"-":                                            "-",
	} {
		require.Equal(t, want, input.RedactedURL(from))
	}
	cmd := NewPlan()
	require.NoError(t, cmd.ParseFlags([]string{
		"-f", "https://jane:hunter2@example.com/app.yaml", "-n", "shop", "--as", "root", "--token", "hunter2", "--kubeconfig", "hunter2",
		"--context", "hunter2", "--server", "https://hunter2", "--insecure-skip-tls-verify", "-k", "https://jane:hunter2@example.com/base", "--enable-exec", "--prune",
	}))
	flags, build := plannedFlags(cmd)
	require.Equal(t, map[string][]string{"filename": {"https://xxxxx@example.com/app.yaml"}, "namespace": {"shop"}, "prune": {"true"}}, flags)
	require.Equal(t, &planBuild{Kustomize: "https://xxxxx@example.com/base", Allowed: []string{"enable-exec"}}, build)
}

// A plan file cannot make apply fetch a URL: the author of the file would choose the server.
func TestAPlanFileFetchesNothing(t *testing.T) {
	for _, name := range []string{"https://xxxxx@example.com/app.yaml", "https://example.com/app.yaml", "HTTP://169.254.169.254/meta"} {
		file := &File{Flags: map[string][]string{"filename": {"app.yaml", name}}}
		apply := NewPlan() // it has the flags of apply that a plan file sets
		require.EqualError(t, file.RestoreFlags(apply), "the plan was made from "+name+", and a plan file cannot make apply fetch a URL: name all sources again with -f")
		require.False(t, apply.Flags().Lookup("filename").Changed)
		given := NewPlan()
		require.NoError(t, given.ParseFlags([]string{"-f", "other.yaml"}))
		require.NoError(t, file.RestoreFlags(given))
		require.Equal(t, []string{"other.yaml"}, flagValues(given.Flags().Lookup("filename")))
	}
}

func TestMalformedPlanFiles(t *testing.T) {
	const head = `{"version":2,"server":"s",`
	for text, want := range map[string]string{
		``:               "is not a plan",
		`[]`:             "is not a plan",
		`{}`:             "is not a plan",
		`{"version":1}`:  "another version",
		`{"version":99}`: "another version",
		head + `"flags":{"namespace":[]},"resources":[]}`:                             "it has 0 values for --namespace",
		head + `"flags":{"namespace":["a","b"]},"resources":[]}`:                      "it has 2 values for --namespace",
		head + `"flags":{"namespace":"a"},"resources":[]}`:                            "cannot unmarshal",
		head + `"flags":{"enable-exec":["true"]},"resources":[]}`:                     "it sets --enable-exec, which a plan file cannot set",
		head + `"flags":{"token":["a"]},"resources":[]}`:                              "it sets --token, which a plan file cannot set",
		head + `"flags":{"nothing":["a"]},"resources":[]}`:                            "it sets --nothing, which a plan file cannot set",
		head + `"flags":{"prune":["perhaps"]},"resources":[]}`:                        "--prune: ",
		head + `"salt":"","resources":[]}`:                                            `unknown field "salt"`,
		head + `"resources":[{}]}`:                                                    "has no kind or name",
		head + `"resources":[{"kind":"A","name":"a","action":"destroy","seal":"x"}]}`: `unknown action "destroy"`,
		head + `"resources":[{"kind":"A","name":"a","action":"error","seal":"x"}]}`:   `unknown action "error"`,
		head + `"resources":[{"kind":"A","name":"a","action":"create"}]}`:             "has no digest",
		head + `"resources":[{"kind":"A","name":"a","action":"create","seal":"x"},{"kind":"A","name":"a","action":"create","seal":"x"}]}`: "duplicate A a",
	} {
		_, err := parsePlanFile("plan.json", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := parsePlanFile("plan.json", []byte(head+`"resources":[]} {}`))
	require.Error(t, err)
}

func TestAPlanIsForOneCluster(t *testing.T) {
	file := File{Cluster: "one", Server: "https://a"}
	require.NoError(t, file.sameCluster("one", "https://b"), "the same by another way")
	require.ErrorContains(t, file.sameCluster("two", "https://a"), "the plan was made for another cluster")
	require.NoError(t, file.sameCluster("", "https://a"))
	require.ErrorContains(t, file.sameCluster("", "https://b"), "cannot be read")
}

// Any plan file is either rejected or only sets flags of the manifests, and
// comparing it terminates.
func FuzzPlanFile(f *testing.F) {
	f.Add(`{"version":2,"server":"https://a","flags":{"namespace":["shop"],"filename":["a.yaml","b.yaml"],"prune":["true"]},"resources":[{"kind":"ConfigMap","namespace":"shop","name":"a","wave":1,"action":"update","seal":"x"}]}`)
	f.Add(`{"version":2,"flags":{"namespace":[]},"resources":null}`)
	f.Add(`{"version":2,"flags":{"enable-exec":["true"],"kubeconfig":["x"]},"build":{"kustomize":"x","allowed":["enable-exec"]}}`)
	f.Add(`{"version":1,"salt":"","resources":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parsePlanFile("plan.json", []byte(text))
		if err != nil {
			return
		}
		cmd := NewPlan()
		cmd.SetIn(os.Stdin)
		if file.RestoreFlags(cmd) == nil {
			cmd.Flags().Visit(func(flag *pflag.Flag) {
				require.Contains(t, StoredFlags(), flag.Name)
				require.NotContains(t, buildFlags(), flag.Name)
			})
		}
		file.Notes()
		file.differences([]preview.Row{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Wave: 1, Action: preview.ActionUpdate}}, nil)
		_ = file.sameCluster("one", "https://b")
	})
}
