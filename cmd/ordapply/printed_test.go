package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/corpora"
)

// oddDocuments are manifests whose values a printer easily changes. The last one
// ends without a newline, as some files do.
const oddDocuments = `apiVersion: v1
kind: ConfigMap
metadata: {name: keep}
data:
  key: |+
    hello


---
apiVersion: v1
kind: ConfigMap
metadata:
  name: styles
data:
  strip: |-
    no newline
  folded: >
    one
    line

    two
  indented: |2
      two spaces
  quoted: "a\tb
    c"
  single: 'it''s'
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: in-a-list}
  data:
    octal: "0o17"
    old: "017"
    hex: "0x1F"
    exponent: "1e003"
    bool: "yes"
    letter: "y"
    base60: "12:30:00"
    date: "2001-01-01"
    nothing: "null"
    tilde: "~"
    digits: "1_000"
    lines: "a\n\nb\n\n"
    spaces: "  a \n b"
    crlf: "a\r\nb"
- apiVersion: acme.example/v1
  kind: Policy
  metadata: {name: scope-unknown}
  spec: {large: 9007199254740993, ratio: 0.1, on: true, none: null, list: [], map: {}}
- apiVersion: v1
  kind: Service
  metadata: {name: placed, namespace: own}
  spec: {ports: [{port: 80}]}
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}, "data": {"a": "b\nc"}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: merged
  annotations: {argocd.argoproj.io/sync-wave: "7"}
spec:
  selector: {matchLabels: &labels {app: merged}}
  template:
    metadata: {labels: *labels}
    spec:
      containers:
      - &first
        name: first
        image: acme/app:1
      - <<: *first
        name: second
---
# A comment above.
apiVersion: v1
kind: ConfigMap
metadata:
  name: last
  annotations: {argocd.argoproj.io/sync-wave: "9"}
data:
  key: |
    hello`

// printer is a verb that prints manifests, and the changes that are its purpose.
type printer struct {
	args    []string
	purpose func(read, printed *unstructured.Unstructured)
}

func printers(t *testing.T) map[string]printer {
	order := filepath.Join(t.TempDir(), "order.yaml")
	require.NoError(t, os.WriteFile(order, []byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: test}\nsortOrder:\n- {kind: ConfigMap, layer: config}\n- {unmatched: true}\n"), 0o600))
	keep := func(_, _ *unstructured.Unstructured) {}
	return map[string]printer{
		"sort":                 {[]string{"sort"}, keep},
		"sort --marks":         {[]string{"sort", "--marks"}, keep},
		"sort --order":         {[]string{"sort", "--order", order}, withoutStamps},
		"sort --order --marks": {[]string{"sort", "--order", order, "--marks"}, withoutStamps},
		"consolidate":          {[]string{"consolidate", "-o", "stream", "--assume-independent"}, withoutWaves},
		"export --to flux":     {[]string{"export", "--to", "flux", "--lossy"}, withExported},
		"export --to argocd":   {[]string{"export", "--to", "argocd", "--lossy"}, withExported},
	}
}

func withoutStamps(_, printed *unstructured.Unstructured) {
	annotations := printed.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "ordapply.dev/") })
	setAnnotations(printed, annotations)
}

func withoutWaves(read, printed *unstructured.Unstructured) {
	for _, obj := range []*unstructured.Unstructured{read, printed} {
		annotations := obj.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool {
			return key == "argocd.argoproj.io/sync-wave" || key == "helm.sh/hook-weight"
		})
		setAnnotations(obj, annotations)
	}
}

// withExported ignores the namespace that an engine would lack, and annotations that its
// order and protections need.
func withExported(read, printed *unstructured.Unstructured) {
	if read.GetNamespace() == "" || printed.GetNamespace() == "" {
		unstructured.RemoveNestedField(read.Object, "metadata", "namespace")
		unstructured.RemoveNestedField(printed.Object, "metadata", "namespace")
	}
	annotations, before := printed.GetAnnotations(), read.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { _, had := before[key]; return !had })
	for key, value := range before {
		if key == "argocd.argoproj.io/sync-wave" {
			annotations[key] = value
		}
	}
	setAnnotations(printed, annotations)
}

func setAnnotations(obj *unstructured.Unstructured, annotations map[string]string) {
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
		return
	}
	obj.SetAnnotations(annotations)
}

// readAsKubectl reads a stream with the decoder of kubectl. The objects are listed by kind
// and name, and under these by namespace.
func readAsKubectl(t *testing.T, stream []byte) map[string][]*unstructured.Unstructured {
	t.Helper()
	out := map[string][]*unstructured.Unstructured{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		addObjects(t, out, obj)
	}
	for _, objects := range out {
		slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
			return strings.Compare(a.GetNamespace(), b.GetNamespace())
		})
	}
	return out
}

func addObjects(t *testing.T, to map[string][]*unstructured.Unstructured, obj *unstructured.Unstructured) {
	if len(obj.Object) == 0 || obj.GetAnnotations()["config.kubernetes.io/local-config"] == "true" {
		return
	}
	if obj.IsList() {
		require.NoError(t, obj.EachListItem(func(item runtime.Object) error {
			addObjects(t, to, item.(*unstructured.Unstructured))
			return nil
		}))
		return
	}
	key := obj.GroupVersionKind().GroupKind().String() + " " + obj.GetName()
	to[key] = append(to[key], obj)
}

// Verbs that print manifests print them as read: the values, their types, the namespaces,
// the comments' places excepted. They only make the changes that are their purpose.
func TestPrintedManifestsAreAsRead(t *testing.T) {
	streams := map[string][]byte{"odd documents": []byte(oddDocuments), "CRLF": []byte(strings.ReplaceAll(oddDocuments, "\n", "\r\n"))}
	if dir, err := corpora.Dir(); err == nil {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		require.NoError(t, err)
		for _, file := range files {
			streams[filepath.Base(file)], err = os.ReadFile(file)
			require.NoError(t, err)
		}
	} else {
		t.Logf("left out: the real streams: %v", err)
	}
	for name, p := range printers(t) {
		for stream, text := range streams {
			t.Run(name+"/"+stream, func(t *testing.T) {
				t.Parallel()
				printed, ok := printedBy(t, p.args, text)
				if !ok {
					t.Skipf("%s refuses %s", name, stream)
				}
				requireAsRead(t, readAsKubectl(t, text), readAsKubectl(t, printed), p.purpose)
				if p.args[0] == "sort" {
					again, _ := printedBy(t, p.args, printed)
					require.Equal(t, string(printed), string(again), "a second run changes nothing")
				}
			})
		}
	}
}

func requireAsRead(t *testing.T, read, printed map[string][]*unstructured.Unstructured, purpose func(read, printed *unstructured.Unstructured)) {
	t.Helper()
	require.ElementsMatch(t, slices.Collect(maps.Keys(read)), slices.Collect(maps.Keys(printed)))
	for name, objects := range read {
		require.Len(t, printed[name], len(objects), name)
		for i, obj := range objects {
			purpose(obj, printed[name][i])
			require.Equal(t, obj.Object, printed[name][i].Object, name)
		}
	}
}

// printedBy returns a verb's output for a stream; ok is false if it refuses it.
func printedBy(t *testing.T, args []string, stream []byte) (printed []byte, ok bool) {
	var out, messages bytes.Buffer
	if args[0] != "export" {
		code := run(t.Context(), append(slices.Clone(args), "-f", "-"), bytes.NewReader(stream), &out, &messages)
		return out.Bytes(), code == report.ExitDone
	}
	dir := filepath.Join(t.TempDir(), "tree")
	address := "https://git.example/tree.git"
	code := run(t.Context(), append(slices.Clone(args), "-f", "-", "--source", address, "-o", dir), bytes.NewReader(stream), &out, &messages)
	if code != report.ExitDone {
		t.Log(messages.String())
		return nil, false
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, string(filepath.Separator)+"layers"+string(filepath.Separator)) {
			return err
		}
		text, err := os.ReadFile(path)
		printed = append(append(printed, "---\n"...), text...)
		return err
	}))
	return printed, true
}
