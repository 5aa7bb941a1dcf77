package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/recorder"
	"github.com/ordapply/ordapply/internal/testcluster"
)

// A plan and a diff read, and let the server rehearse: no other request goes out,
// whatever there is to create, to change, to adopt or to make anew. What is as
// it was applied is not asked about by itself.
func TestAPreviewNeverWrites(t *testing.T) {
	cluster := testcluster.Start(t)
	_, err := cluster.TryKubectl("create", "namespace", "unwritten")
	require.NoError(t, err)
	code, said := applyThrough(cluster.Kubeconfig, []byte(previewStream("v1")))
	require.Equal(t, exitDone, code, said)
	_, err = cluster.TryKubectl("create", "configmap", "found", "-n", "unwritten")
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(previewStream("v2")), 0o600))
	for verb, want := range map[string]int{"plan": exitDone, "diff": exitDifferent} {
		proxy := recorder.Start(t, cluster.Kubeconfig)
		code, said := ordapplyWith(proxy.Kubeconfig, verb, "-f", file)
		require.Equal(t, want, code, said)
		onlyReads(t, proxy.Requests())
		for _, r := range proxy.Requests() {
			require.NotEqual(t, "same", r.Name, "unchanged, and asked about: %s", r.Verb)
		}
	}
	_, err = cluster.TryKubectl("get", "namespace", "unwritten-new")
	require.Error(t, err)
}

func onlyReads(t *testing.T, requests []recorder.Request) {
	t.Helper()
	rehearsed := 0
	for _, r := range requests {
		if r.Verb == "patch" && slices.Equal(r.URL.Query()["dryRun"], []string{"All"}) {
			rehearsed++
			continue
		}
		require.Contains(t, []string{"discovery", "get", "list"}, r.Verb, "%s", r.URL)
	}
	require.NotZero(t, rehearsed)
}

// previewStream has something for every action; only its image depends on what
// is asked for.
func previewStream(version string) string {
	stream := `apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: unwritten}
---
apiVersion: v1
kind: Secret
metadata: {name: update, namespace: unwritten}
stringData: {version: ` + version + `}
---
apiVersion: batch/v1
kind: Job
metadata: {name: recreate, namespace: unwritten, annotations: {ordapply.dev/on-immutable: recreate}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: ` + version + `}]}}}
`
	if version == "v1" {
		return stream
	}
	return stream + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: found, namespace: unwritten}
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
metadata: {name: deferred, namespace: unwritten}
`
}
