package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/testcluster"
)

// edited is an applied object with a manual edit.
type edited struct {
	obj  *unstructured.Unstructured
	kind kube.Kind
	edit string // "" for an object without an edit
	by   string // how the edit is made
	file string // its manifest
	// marked is the manifest with the fingerprint of its apply; kubectl needs it for the same
	// result.
	marked *unstructured.Unstructured
}

// edits is a cluster with manually edited objects.
type edits struct {
	t       *testing.T
	cluster *testcluster.Cluster
	client  dynamic.Interface
	objects []*edited
}

// After each edit of testdata/edits, diff agrees with `kubectl diff
// --server-side` whether an apply would change the object, with and without
// --force-conflicts, and apply gives the result of `kubectl apply --server-side
// --force-conflicts`.
func TestDiffAgreesWithKubectl(t *testing.T) {
	e := newEdits(t)
	require.Equal(t, report.ExitDone, e.ordapply("apply", "--wait=false", "-f", e.file("all.yaml", e.manifests()...)))
	e.each(func(o *edited) { e.mark(o) })
	e.each(func(o *edited) { e.makeEdit(o) })

	expected := make([]*unstructured.Unstructured, len(e.objects))
	changed := e.kubectlDiff()
	var mu sync.Mutex
	outcomes := map[string]int{}
	e.eachIndexed(func(i int, o *edited) {
		_, conflict := e.dryRun(o, false)
		require.True(t, conflict == nil || apierrors.IsConflict(conflict), "%s: %v", o, conflict)
		plain, forced := report.ExitDone, report.ExitDone
		if changed[o.name()] {
			plain, forced = report.ExitFailed, report.ExitFailed
		}
		if conflict != nil {
			plain = report.ExitUsage
		}
		require.Equal(t, plain, e.ordapply("diff", "-f", o.file), "diff after %s", o)
		require.Equal(t, forced, e.ordapply("diff", "--force-conflicts", "-f", o.file), "diff --force-conflicts after %s", o)
		var err error
		expected[i], err = e.dryRun(o, true)
		require.NoError(t, err, "%s", o)
		mu.Lock()
		outcomes[fmt.Sprintf("%d/%d", plain, forced)]++
		mu.Unlock()
	})

	require.Equal(t, report.ExitDone, e.ordapply("apply", "--wait=false", "--force-conflicts", "-f", filepath.Join(filepath.Dir(e.objects[0].file), "all.yaml")))
	kinds, made := map[string]bool{}, map[string]int{}
	e.eachIndexed(func(i int, o *edited) {
		live, err := e.resource(o).Get(t.Context(), o.obj.GetName(), metav1.GetOptions{})
		require.NoError(t, err, "%s", o)
		require.Equal(t, fieldsOf(expected[i]), fieldsOf(live), "apply after %s", o)
		mu.Lock()
		defer mu.Unlock()
		if o.edit != "" {
			kinds[o.obj.GetKind()] = true
			made[o.by]++
		}
	})
	total := len(e.objects) - len(kinds)
	t.Logf("%d edits of %d kinds, made by %v; exit codes of diff without/with --force-conflicts: %v", total, len(kinds), made, outcomes)
	require.GreaterOrEqual(t, total, 150)
	require.GreaterOrEqual(t, len(kinds), 15)
}

// newEdits reads the edits, and creates an object for each, and one of each
// kind without an edit.
func newEdits(t *testing.T) *edits {
	t.Helper()
	e := &edits{t: t, cluster: shared.Get(t)}
	kinds := filepath.Join("testdata", "edits", "crds.yaml")
	require.Equal(t, report.ExitDone, e.ordapply("apply", "-f", kinds))
	config, err := clientcmd.BuildConfigFromFlags("", e.cluster.Kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	e.client, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
	served, err := kube.Connect(config)
	require.NoError(t, err)

	text, err := os.ReadFile(filepath.Join("testdata", "edits", "edits.yaml"))
	require.NoError(t, err)
	var table []struct {
		Manifest map[string]any
		Edits    []string
	}
	require.NoError(t, yaml.Unmarshal(text, &table))
	ways := []string{"json patch", "replace", "kubectl edit", "json patch", "replace", "json patch", "replace", "kubectl replace", "json patch", "replace", "json patch"}
	dir := t.TempDir()
	for _, row := range table {
		for i, edit := range append(row.Edits, "") {
			obj := (&unstructured.Unstructured{Object: runtime.DeepCopyJSON(integers(t, row.Manifest))})
			kind, ok := served.Kind(obj.GroupVersionKind())
			require.True(t, ok, "%s", obj.GroupVersionKind())
			obj.SetName(fmt.Sprintf("edit-%s-%d", strings.ToLower(obj.GetKind()), i))
			if kind.Namespaced {
				obj.SetNamespace("edits")
			}
			o := &edited{obj: obj, kind: kind, edit: edit, by: ways[len(e.objects)%len(ways)], file: filepath.Join(dir, obj.GetName()+".yaml")}
			e.objects = append(e.objects, o)
			e.file(o.file, obj)
		}
	}
	return e
}

// integers returns a value as the API server's client decodes it.
func integers(t *testing.T, value map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON([]byte(text)))
	return obj.Object
}

func (o *edited) String() string {
	return fmt.Sprintf("%s %s (%s)", o.obj.GetName(), o.edit, o.by)
}

// name returns kubectl's file name for the object.
func (o *edited) name() string { return plan.FileName(o.obj) }

func (e *edits) manifests() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range e.objects {
		out = append(out, o.obj)
	}
	return out
}

// file writes objects as a stream and returns its path.
func (e *edits) file(path string, objects ...*unstructured.Unstructured) string {
	e.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(e.objects[0].file), path)
	}
	var out bytes.Buffer
	for _, obj := range objects {
		text, err := yaml.Marshal(obj.Object)
		require.NoError(e.t, err)
		out.WriteString("---\n")
		out.Write(text)
	}
	require.NoError(e.t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

// ordapply runs the program and returns its exit code.
func (e *edits) ordapply(args ...string) int {
	var out, output bytes.Buffer
	code := run(context.Background(), append(args, "--kubeconfig", e.cluster.Kubeconfig), nil, &out, &output)
	if code != report.ExitDone && args[0] == "apply" {
		e.t.Log(output.String())
	}
	return code
}

// each calls do for every object, several at a time.
func (e *edits) each(do func(*edited)) { e.eachIndexed(func(_ int, o *edited) { do(o) }) }

func (e *edits) eachIndexed(do func(int, *edited)) {
	var group sync.WaitGroup
	places := make(chan struct{}, 6)
	for i, o := range e.objects {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i, o)
		})
	}
	group.Wait()
	if e.t.Failed() {
		e.t.FailNow()
	}
}

func (e *edits) resource(o *edited) dynamic.ResourceInterface {
	if o.kind.Namespaced {
		return e.client.Resource(o.kind.Resource).Namespace(o.obj.GetNamespace())
	}
	return e.client.Resource(o.kind.Resource)
}

// mark records the fingerprint of an object's apply.
func (e *edits) mark(o *edited) {
	live, err := e.resource(o).Get(e.t.Context(), o.obj.GetName(), metav1.GetOptions{})
	require.NoError(e.t, err)
	o.marked = o.obj.DeepCopy()
	annotations := o.marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[applyset.AppliedAnnotation] = live.GetAnnotations()[applyset.AppliedAnnotation]
	o.marked.SetAnnotations(annotations)
	foldSecret(o.marked)
}

// foldSecret moves stringData into data, as ordapply sends it.
func foldSecret(obj *unstructured.Unstructured) {
	text, _, _ := unstructured.NestedStringMap(obj.Object, "stringData")
	for key, value := range text {
		_ = unstructured.SetNestedField(obj.Object, encoded(value), "data", key)
	}
	delete(obj.Object, "stringData")
}

func encoded(text string) string {
	out, _ := json.Marshal([]byte(text))
	return strings.Trim(string(out), `"`)
}

// patch returns an edit as JSON.
func (o *edited) patch(t *testing.T) []byte {
	t.Helper()
	var operations []map[string]any
	for step := range strings.SplitSeq(o.edit, "; ") {
		parts := strings.SplitN(step, " ", 3)
		operation := map[string]any{"op": parts[0], "path": parts[1]}
		if len(parts) == 3 {
			var value any
			require.NoError(t, json.Unmarshal([]byte(parts[2]), &value), "%s", step)
			operation["value"] = value
		}
		operations = append(operations, operation)
	}
	text, err := json.Marshal(operations)
	require.NoError(t, err)
	return text
}

// makeEdit changes the live object in one of several ways.
func (e *edits) makeEdit(o *edited) {
	if o.edit == "" {
		return
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-patch"}
	if o.by != "json patch" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	next, err := e.resource(o).Patch(e.t.Context(), o.obj.GetName(), types.JSONPatchType, o.patch(e.t), options)
	require.NoError(e.t, err, "%s", o)
	if o.by == "json patch" {
		return
	}
	live, err := e.resource(o).Get(e.t.Context(), o.obj.GetName(), metav1.GetOptions{})
	require.NoError(e.t, err)
	next.SetManagedFields(nil)
	next.SetGeneration(live.GetGeneration())
	next.SetResourceVersion(live.GetResourceVersion())
	file := e.file(o.file+".edited", next)
	switch o.by {
	case "replace":
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // a controller has written in between
			live, err := e.resource(o).Get(e.t.Context(), o.obj.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			next.SetResourceVersion(live.GetResourceVersion())
			_, err = e.resource(o).Update(e.t.Context(), next, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
			return err
		})
		require.NoError(e.t, err, "%s", o)
	case "kubectl replace":
		out, err := e.cluster.TryKubectl("replace", "-f", file)
		require.NoError(e.t, err, "%s: %s", o, out)
	case "kubectl edit":
		e.kubectlEdit(o, file)
	}
}

// kubectlEdit runs kubectl edit with an editor that replaces the file, again if a controller
// changed the object meanwhile.
func (e *edits) kubectlEdit(o *edited, file string) {
	command := e.cluster.KubectlCommand("edit", "-n", "edits", o.kind.Resource.GroupResource().String(), o.obj.GetName())
	var out []byte
	var err error
	for range 10 {
		c := exec.Command(command[0], command[1:]...)
		c.Env = append(os.Environ(), "KUBE_EDITOR=cp "+file)
		if out, err = c.CombinedOutput(); err == nil || !strings.Contains(string(out), "the object has been modified") {
			break
		}
	}
	require.NoError(e.t, err, "%s: %s", o, out)
	if !strings.Contains(string(out), "no changes made") { // the edit is equivalent, such as 1 for 1000m
		require.Contains(e.t, string(out), " edited", "%s", o)
	}
}

// kubectlDiff returns the objects that a forced apply would change according to
// kubectl.
func (e *edits) kubectlDiff() map[string]bool {
	var marked []*unstructured.Unstructured
	for _, o := range e.objects {
		marked = append(marked, o.marked)
	}
	command := e.cluster.KubectlCommand("diff", "--server-side", "--force-conflicts", "--field-manager=ordapply", "-f", e.file("marked.yaml", marked...))
	var out, output bytes.Buffer
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = &out, &output
	err := c.Run()
	var exit *exec.ExitError
	require.ErrorAs(e.t, err, &exit, output.String())
	require.Equal(e.t, 1, exit.ExitCode(), output.String())
	changed := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if _, name, ok := strings.Cut(line, " /"); ok && strings.HasPrefix(line, "diff -u -N ") {
			name, _, _ = strings.Cut(name, " ")
			changed[filepath.Base(name)] = true
		}
	}
	return changed
}

// dryRun sends the request of `kubectl diff --server-side`: a dry run of an
// apply.
func (e *edits) dryRun(o *edited, force bool) (*unstructured.Unstructured, error) {
	body, err := o.marked.MarshalJSON()
	require.NoError(e.t, err)
	options := metav1.PatchOptions{FieldManager: "ordapply", Force: &force, DryRun: []string{metav1.DryRunAll}}
	return e.resource(o).Patch(e.t.Context(), o.obj.GetName(), types.ApplyPatchType, body, options)
}

// fieldsOf returns an object without the fields that only the server and its
// controllers write.
func fieldsOf(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	return out.Object
}
