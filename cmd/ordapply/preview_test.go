package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/recorder"
)

// plan and diff send only reads and dry runs, for creations, updates, adoptions and
// recreations. Unchanged objects are not requested individually.
func TestAPreviewNeverWrites(t *testing.T) {
	cluster := shared.Get(t)
	_, err := cluster.TryKubectl("create", "namespace", "unwritten")
	require.NoError(t, err)
	code, output := applyThrough(cluster.Kubeconfig, []byte(previewStream("unwritten", "v1")))
	require.Equal(t, report.ExitDone, code, output)
	_, err = cluster.TryKubectl("create", "configmap", "found", "-n", "unwritten")
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(previewStream("unwritten", "v2")), 0o600))
	for verb, want := range map[string]int{"plan": report.ExitDone, "diff": report.ExitDifferent} {
		proxy := recorder.Start(t, cluster.Kubeconfig)
		code, output := ordapplyWith(proxy.Kubeconfig, verb, "-f", file)
		require.Equal(t, want, code, output)
		require.NotZero(t, onlyReads(t, proxy.Requests()))
		for _, r := range proxy.Requests() {
			require.NotEqual(t, "same", r.Name, "unchanged, and asked about: %s", r.Verb)
		}
	}
	_, err = cluster.TryKubectl("get", "namespace", "unwritten-new")
	require.Error(t, err)
}

// Objects to prune are read too, and no dry run tries their deletion; the same holds with
// --out.
func TestAPlannedPruneNeverWrites(t *testing.T) {
	cluster := shared.Get(t)
	_, err := cluster.TryKubectl("create", "namespace", "unpruned")
	require.NoError(t, err)
	set := []string{"--applyset", "one", "-n", "unpruned"}
	code, output := applyThrough(cluster.Kubeconfig, []byte(previewStream("unpruned", "v1")), set...)
	require.Equal(t, report.ExitDone, code, output)

	folder := t.TempDir()
	file := filepath.Join(folder, "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same, namespace: unpruned}\n"), 0o600))
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output = ordapplyWith(proxy.Kubeconfig, append([]string{"plan", "-f", file, "--prune", "--out", filepath.Join(folder, "plan.json")}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	require.Zero(t, onlyReads(t, proxy.Requests()))
	_, err = cluster.TryKubectl("get", "secret", "update", "-n", "unpruned")
	require.NoError(t, err)
}

// Failed reads and dry runs are retried: the plan is that of an API server
// without faults.
func TestPreviewWithTransientErrors(t *testing.T) {
	cluster := shared.Get(t)
	_, err := cluster.TryKubectl("create", "namespace", "bearing")
	require.NoError(t, err)
	set := []string{"--applyset", "one", "-n", "bearing"}
	old := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, namespace: bearing}\n---\n" + previewStream("bearing", "v1")
	code, output := applyThrough(cluster.Kubeconfig, []byte(old), append(set, "--wait=false")...)
	require.Equal(t, report.ExitDone, code, output)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(previewStream("bearing", "v2")), 0o600))
	plan := func(kubeconfig string) string {
		var out, output bytes.Buffer
		args := append([]string{"plan", "-f", file, "--prune", "-o", "json", "--kubeconfig", kubeconfig}, set...)
		require.Equal(t, report.ExitDone, run(context.Background(), args, nil, &out, &output), output.String())
		return regexp.MustCompile(`"server": "[^"]*"|\(hidden [0-9a-f]+\)`).ReplaceAllString(out.String(), "")
	}
	calm := recorder.Start(t, cluster.Kubeconfig)
	want := plan(calm.Kubeconfig)
	require.Contains(t, want, `"prune"`)
	requested := map[string]bool{}
	for _, r := range calm.Requests() {
		if r.Verb == "get" || r.Verb == "list" || r.Verb == "patch" {
			requested[r.Verb+" "+r.Resource+" "+r.Name] = true
		}
	}
	for name, trouble := range map[string]recorder.Fault{
		"429": recorder.Status(429, "TooManyRequests", "too many requests"), "500": recorder.Status(500, "InternalError", "etcdserver: leader changed"), "reset": recorder.Reset,
	} {
		t.Run(name, func(t *testing.T) {
			proxy := recorder.Start(t, cluster.Kubeconfig)
			var mu sync.Mutex
			seen := map[string]bool{} // every request is rejected once
			proxy.Inject(func(r *recorder.Request) recorder.Fault {
				mu.Lock()
				defer mu.Unlock()
				if key := r.Verb + " " + r.Resource + " " + r.Name; requested[key] && !seen[key] {
					seen[key] = true
					return trouble
				}
				return nil
			})
			require.Equal(t, want, plan(proxy.Kubeconfig))
			require.Equal(t, requested, seen)
		})
	}
}

// onlyReads counts the dry runs; all other requests must be reads.
func onlyReads(t *testing.T, requests []recorder.Request) (dryRuns int) {
	t.Helper()
	for _, r := range requests {
		if isDryRun := slices.Equal(r.URL.Query()["dryRun"], []string{"All"}); isDryRun && r.Verb == "patch" {
			dryRuns++
			continue
		} else if isDryRun && r.Verb == "create" { // whether the recreated object would be accepted
			continue
		}
		require.Contains(t, []string{"discovery", "get", "list"}, r.Verb, "%s", r.URL)
	}
	return dryRuns
}

// previewStream has a resource for every action; only its image depends on
// version.
func previewStream(namespace, version string) string {
	stream := `apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: ` + namespace + `}
---
apiVersion: v1
kind: Secret
metadata: {name: update, namespace: ` + namespace + `}
stringData: {version: ` + version + `}
---
apiVersion: batch/v1
kind: Job
metadata: {name: recreate, namespace: ` + namespace + `, annotations: {ordapply.dev/on-immutable: recreate}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: ` + version + `}]}}}
`
	if version == "v1" {
		return stream
	}
	return stream + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: found, namespace: ` + namespace + `}
---
apiVersion: v1
kind: Namespace
metadata: {name: unwritten-new}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: deferred, namespace: unwritten-new}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.unwritten.example}
spec:
  group: unwritten.example
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: unwritten.example/v1
kind: Thing
metadata: {name: deferred, namespace: bearing}
`
}

// The run changes each object exactly as its preview showed, also when it takes
// over from kubectl's client-side apply; after the run nothing is left to
// change.
func TestPreviewAgreesWithApply(t *testing.T) {
	cluster := shared.Get(t)
	_, err := cluster.TryKubectl("create", "namespace", "foretold")
	require.NoError(t, err)
	folder := t.TempDir()
	old := filepath.Join(folder, "old.yaml")
	require.NoError(t, os.WriteFile(old, []byte(foretoldBefore), 0o600))
	out, err := cluster.TryKubectl("apply", "-f", old)
	require.NoError(t, err, out)
	file := filepath.Join(folder, "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(foretoldAfter), 0o600))

	rows := previewOf(t, cluster.Kubeconfig, file)
	code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", file)
	require.Equal(t, report.ExitDone, code, output)
	target := targetOf(t, cluster.Kubeconfig)
	seen := map[preview.Action]bool{}
	for _, row := range rows {
		seen[row.Action] = true
		kind, _ := target.Cluster.Kind(row.Merged.GroupVersionKind())
		live, err := target.Cluster.Get(context.Background(), kind, row.ID.Namespace, row.ID.Name)
		require.NoError(t, err)
		require.Equal(t, bare(row.Merged), bare(live), "%s (%s)", row.ID, row.Action)
	}
	require.Equal(t, map[preview.Action]bool{preview.ActionCreate: true, preview.ActionAdopt: true}, seen)
	for _, row := range previewOf(t, cluster.Kubeconfig, file) {
		require.Equal(t, preview.ActionUnchanged, row.Action, "%s", row.ID)
	}
}

func targetOf(t *testing.T, kubeconfig string) *connect.Target {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &kubeconfig
	target, err := connect.To(t.Context(), new(console.Console), flags)
	require.NoError(t, err)
	return target
}

// previewOf returns the preview of a file.
func previewOf(t *testing.T, kubeconfig, file string) []preview.Row {
	t.Helper()
	target := targetOf(t, kubeconfig)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	manifests, err := manifest.Read(file, bytes.NewReader(text))
	require.NoError(t, err)
	var inputs []apply.Input
	for _, m := range manifests {
		inputs = append(inputs, apply.Input{Object: m.Unstructured, Source: m.Source})
	}
	stream, err := apply.NewStream(inputs, target.Scope)
	require.NoError(t, err)
	plan, err := planner.Build(stream.Resources, ordering.Options{})
	require.NoError(t, err)
	preview, err := apply.Applier{Cluster: target.Cluster}.Preview(context.Background(), plan, stream.Objects)
	require.NoError(t, err)
	require.NoError(t, preview.Err())
	return preview.Rows
}

// bare returns the fields that a manifest may contain. A Deployment's
// controller stores its revision in an annotation.
func bare(obj *unstructured.Unstructured) map[string]any {
	fields := obj.DeepCopy().Object
	delete(fields, "status")
	metadata := fields["metadata"].(map[string]any)
	kept := map[string]any{"name": metadata["name"], "labels": metadata["labels"]}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "ordapply.dev/applied")
		delete(annotations, "deployment.kubernetes.io/revision")
		if len(annotations) > 0 {
			kept["annotations"] = annotations
		}
	}
	fields["metadata"] = kept
	return fields
}

const foretoldBefore = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: foretold, labels: {stays: a, goes: a}, annotations: {goes: a}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: goes, emptyDir: {}}, {name: stays, emptyDir: {}}]
      containers:
      - {name: sidecar, image: sidecar, ports: [{containerPort: 1}]}
      - name: web
        image: web:1
        command: [a, b]
        env: [{name: STAYS, value: a}, {name: GOES, value: a}]
        ports: [{containerPort: 80, name: http}, {containerPort: 81, name: goes}]
        volumeMounts: [{name: stays, mountPath: /a}, {name: goes, mountPath: /b}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: foretold}
spec:
  selector: {app: web, goes: a}
  ports: [{name: http, port: 80}, {name: goes, port: 81}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: foretold, finalizers: [foretold.example/goes]}
data: {stays: a, goes: a, changes: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: emptied, namespace: foretold}
data: {goes: a}
`

const foretoldAfter = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: foretold, labels: {stays: a}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: stays, emptyDir: {}}]
      containers:
      - name: web
        image: web:2
        command: [a]
        env: [{name: STAYS, value: a}, {name: COMES, value: a}]
        ports: [{containerPort: 80, name: http}]
        volumeMounts: [{name: stays, mountPath: /a}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: foretold}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: foretold}
data: {stays: a, changes: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: emptied, namespace: foretold}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: new, namespace: foretold}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: new, namespace: foretold}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`
