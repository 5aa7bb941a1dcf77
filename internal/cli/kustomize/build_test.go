package kustomize

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ordapply/ordapply/test/smallmemory"
)

// TestMain lets the test be the function, as ordapply is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == FunctionArgument {
		os.Exit(Function(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "build-without-a-file" {
		os.Exit(buildWithoutAFile(os.Args[0], os.Args[2]))
	}
	os.Exit(m.Run())
}

// TestSameAsKustomize compares a build without flags with one that has kustomize's flags and
// the real sortorder.
func TestSameAsKustomize(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it compiles sortorder")
	}
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin, "../../../cmd/sortorder").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	carry, err := exec.Command("sortorder", "carry", write(t, map[string]string{"order.yaml": orderOf("shop", "Deployment")})+"/order.yaml").Output()
	require.NoError(t, err)
	for name, files := range trees(string(carry)) {
		t.Run(name, func(t *testing.T) {
			root := write(t, files)
			want, err := build(filepath.Join(root, "top"), filesys.MakeFsOnDisk(), enabled(true))
			require.NoError(t, err)
			require.Contains(t, string(want), "ordapply.dev/layer: shop/")
			t.Setenv("PATH", "")
			for _, b := range []Build{{Own: true}, {Own: true, Plugins: true}, {Own: true, Plugins: true, Exec: true}} {
				b.Folder = filepath.Join(root, "top")
				got, err := b.Run()
				require.NoError(t, err)
				require.Equal(t, string(want), string(got))
			}
		})
	}
}

const resources = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`

func orderOf(name, kind string) string {
	return fmt.Sprintf("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata:\n  name: %s\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: sortorder}\nsortOrder:\n- kind: %s\n  layer: first\n", name, kind)
}

// trees returns kustomizations: every place of an order with every other part of a build.
func trees(carry string) map[string]map[string]string {
	const list = "transformers: [order.yaml]\n"
	order, again := orderOf("shop", "Deployment"), orderOf("shop", "Service")
	places := map[string]map[string]string{
		"top":        {"top/kustomization.yaml": list, "top/order.yaml": order},
		"base":       {"base/kustomization.yaml": list, "base/order.yaml": order},
		"both":       {"top/kustomization.yaml": list, "top/order.yaml": again, "base/kustomization.yaml": list, "base/order.yaml": order},
		"component":  {"top/kustomization.yaml": "components: [../part]\n", "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + list, "part/order.yaml": order},
		"inline":     {"top/kustomization.yaml": "transformers:\n- |-\n  " + strings.ReplaceAll(strings.TrimSpace(order), "\n", "\n  ") + "\n"},
		"two names":  {"top/kustomization.yaml": list, "top/order.yaml": order + "---\n" + orderOf("other", "Service")},
		"two passes": {"top/kustomization.yaml": list, "top/order.yaml": carry},
	}
	parts := map[string]string{
		"nothing":  "",
		"names":    "namePrefix: a-\nnamespace: shop\nconfigMapGenerator: [{name: extra, literals: [a=b]}]\n",
		"patches":  "labels: [{pairs: {team: x}, includeTemplates: true}]\npatches: [{patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 3}]', target: {kind: Deployment}}]\n",
		"metadata": "sortOptions: {order: fifo}\nbuildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\n",
	}
	out := map[string]map[string]string{}
	for place, files := range places {
		for part, text := range parts {
			tree := map[string]string{
				"base/kustomization.yaml": "resources: [resources.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\n",
				"base/resources.yaml":     resources,
				"top/kustomization.yaml":  "resources: [../base]\n" + text,
			}
			for name, text := range files {
				tree[name] += text
			}
			out[place+" with "+part] = tree
		}
	}
	return out
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// The examples build without flags.
func TestExamples(t *testing.T) {
	found := 0
	for _, pattern := range []string{"../../../examples/*/kustomization.yaml", "../../../examples/*/*/*/kustomization.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if !strings.Contains(string(text), "transformers:") || strings.Contains(string(text), "kind: Component") {
				continue
			}
			built, err := Build{Own: true, Folder: filepath.Dir(file)}.Run()
			require.NoError(t, err, file)
			require.Contains(t, string(built), "ordapply.dev/layer: ", file)
			found++
		}
	}
	require.Positive(t, found)
}

// Functions of others run only with kustomize's flags, also beside a SortOrder, and no
// function runs that was not looked at.
func TestFunctionsOfOthers(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	other := "apiVersion: example.com/v1\nkind: Other\nmetadata:\n  name: other\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: touch, args: [" + ran + "]}\n"
	for name, files := range map[string]map[string]string{
		"beside":    {"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml, other.yaml]\n"},
		"one file":  {"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\n", "order.yaml": orderOf("shop", "Service") + "---\n" + other},
		"generator": {"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\ngenerators: [other.yaml]\n"},
		"validator": {"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\nvalidators: [other.yaml]\n"},
		"generator that is a SortOrder": {"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\ngenerators: [order2.yaml]\n",
			"order2.yaml": strings.Replace(orderOf("shop", "Service"), "path: sortorder", "path: touch, args: ["+ran+"]", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			tree := map[string]string{"r.yaml": resources, "order.yaml": orderOf("shop", "Service"), "other.yaml": other}
			for name, text := range files {
				tree[name] = text
			}
			root := write(t, tree)
			_, err := Build{Own: true, Folder: root}.Run()
			require.ErrorContains(t, err, "--enable-alpha-plugins")
			_, err = Build{Own: true, Folder: root, Plugins: true}.Run()
			require.ErrorIs(t, err, errMixed)
			require.NoFileExists(t, ran)
			_, _ = Build{Own: true, Folder: root, Plugins: true, Exec: true}.Run()
			require.FileExists(t, ran)
			require.NoError(t, os.Remove(ran))
		})
	}
}

// writeConfigMaps writes a kustomization of files, each with a ConfigMap whose aliases repeat
// a text of a size.
func writeConfigMaps(t *testing.T, files, size, times int) string {
	t.Helper()
	tree := map[string]string{"kustomization.yaml": "resources:\n"}
	for n := range files {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata:\n  k: &s %s\n", n, strings.Repeat("s", size))
		for i := range times {
			text += fmt.Sprintf("  k%d: *s\n", i)
		}
		name := fmt.Sprintf("%d.yaml", n)
		tree[name] = text
		tree["kustomization.yaml"] += "- " + name + "\n"
	}
	return write(t, tree)
}

func TestAliasesOfAKustomizationAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 3072) {
		return
	}
	built, err := Build{Own: true, Folder: writeConfigMaps(t, 2, 100, 3)}.Run()
	require.NoError(t, err)
	require.Contains(t, string(built), "k2: "+strings.Repeat("s", 100))
	_, err = Build{Own: true, Folder: writeConfigMaps(t, 1, 1<<20, 5000)}.Run()
	require.ErrorContains(t, err, "0.yaml: its aliases expand to more than 16 MiB")
	_, err = Build{Own: true, Folder: writeConfigMaps(t, 50, 100<<10, 150)}.Run()
	require.ErrorContains(t, err, "4.yaml: the aliases of this file, and of those before it, expand to more than 64 MiB")
}

// buildWithoutAFile deletes this program's file, and builds a folder.
func buildWithoutAFile(program, folder string) int {
	if err := os.Remove(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built, err := Build{Own: true, Folder: folder}.Run()
	fmt.Printf("%s%v", built, err)
	return 0
}

// The program that builds is the function, also when its file was deleted or replaced.
func TestAProgramThatIsReplacedMeanwhile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux keeps the program of a running process")
	}
	own, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(own)
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, text, 0o700))
	root := write(t, map[string]string{"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\n", "r.yaml": resources, "order.yaml": orderOf("shop", "Service")})
	out, err := exec.Command(program, "build-without-a-file", root).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "ordapply.dev/layer: shop/first")
}

// What was looked at is what is run: a file that changes meanwhile counts as it was, and a new
// one is refused.
func TestFilesThatChangeMeanwhile(t *testing.T) {
	root := write(t, map[string]string{"r.yaml": resources, "new.yaml": resources})
	looking := newFiles("")
	_, err := looking.ReadFile(filepath.Join(root, "r.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "r.yaml"), []byte("kind: Changed\n"), 0o600))
	running := newFiles("program")
	running.seen = looking.texts
	text, err := running.ReadFile(filepath.Join(root, "r.yaml"))
	require.NoError(t, err)
	require.Equal(t, resources, string(text))
	_, err = running.ReadFile(filepath.Join(root, "new.yaml"))
	require.ErrorIs(t, err, errRemote)
}

// A program that is not ordapply is never started: there a SortOrder is a function like others.
func TestOtherProgramsAreNoFunction(t *testing.T) {
	root := write(t, map[string]string{"kustomization.yaml": "resources: [r.yaml]\ntransformers: [order.yaml]\n", "r.yaml": resources, "order.yaml": orderOf("shop", "Service")})
	_, err := Build{Folder: root}.Run()
	require.ErrorContains(t, err, "enable functions with --enable-alpha-plugins")
	require.NotContains(t, err.Error(), "needs neither")
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "sortorder"), []byte("#!/bin/sh\nexec sed s/shop/changed/\n"), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	built, err := Build{Folder: root, Plugins: true, Exec: true}.Run()
	require.NoError(t, err)
	require.Contains(t, string(built), "changed")
}
