package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// mutated takes values of each type that a path can select, as a part of a text and as a
// whole; the Pods are after the test of cli-utils itself.
const mutated = `
apiVersion: v1
kind: Namespace
metadata: {name: mutation-peer}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: texts
  namespace: mutation-peer
  annotations:
    config.kubernetes.io/apply-time-mutation: |
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: $.spec.replicas, targetPath: $.data.number, token: NUMBER}
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: $.status.readyReplicas, targetPath: $.data.number, token: M}
      - {sourceRef: {kind: Deployment, apiVersion: apps/v1, name: db, namespace: mutation-peer}, sourcePath: $.spec.template.spec.hostNetwork, targetPath: $.data.boolean, token: B}
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: $.spec.selector, targetPath: $.data.map, token: MAP}
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: "$.spec.template.spec.containers.length", targetPath: $.data.length, token: L}
      - {sourceRef: {kind: ConfigMap, name: source, namespace: mutation-peer}, sourcePath: "$.metadata.annotations['example.com/a']", targetPath: $.data.whole}
      - {sourceRef: {kind: ConfigMap, name: source, namespace: mutation-peer}, sourcePath: $.data.text, targetPath: $.data.again, token: "${t}"}
      - {sourceRef: {kind: ConfigMap, name: source, namespace: mutation-peer}, sourcePath: $.data.text, targetPath: $.data.without, token: "${t}"}
data: {number: NUMBER of M, boolean: is B, map: MAP, length: "L", whole: "", again: "${t} and ${t}", without: none}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: source, namespace: mutation-peer, annotations: {example.com/a: "<a> & \"b\""}}
data: {text: "one\ntwo"}
---
apiVersion: v1
kind: Service
metadata:
  name: types
  namespace: mutation-peer
  annotations:
    config.kubernetes.io/apply-time-mutation: |
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: "$.spec.template.spec.containers[0].ports[0].containerPort", targetPath: "$.spec.ports[0].port"}
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: $.spec.selector.matchLabels, targetPath: $.spec.selector}
      - {sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}, sourcePath: $.spec.template.spec.hostNetwork, targetPath: $.spec.publishNotReadyAddresses}
spec: {publishNotReadyAddresses: false, ports: [{name: sql, port: 1}], selector: {a: b}}
---
apiVersion: v1
kind: Pod
metadata:
  name: pod-a
  namespace: mutation-peer
  annotations:
    config.kubernetes.io/apply-time-mutation: |
      - sourceRef: {kind: Deployment, group: apps, name: db, namespace: mutation-peer}
        sourcePath: $.spec.template.spec.containers[?(@.name=="db")].ports[?(@.name=="sql")].containerPort
        targetPath: $.spec.containers[?(@.name=="nginx")].env[?(@.name=="SERVICE_HOST")].value
        token: ${pod-b-port}
spec: {automountServiceAccountToken: false, containers: [{name: nginx, image: nginx:1.21, env: [{name: OTHER, value: x}, {name: SERVICE_HOST, value: "db:${pod-b-port}"}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: mutation-peer}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {hostNetwork: true, containers: [{name: db, image: db, ports: [{name: sql, containerPort: 5432, hostPort: 5432}]}]}
`

// TestMutationAsKapply applies the same stream with cli-utils' own program and with ordapply,
// each on a control plane of its own. The stored fields are the same.
func TestMutationAsKapply(t *testing.T) {
	kapply, err := testcluster.Find("kapply")
	if err != nil {
		testcluster.Skip(t, "kapply (run `make emit-peers`)")
	}
	theirs, ours := testcluster.Start(t), shared.Get(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "stream.yaml")
	require.NoError(t, os.WriteFile(file, []byte(mutated), 0o644))
	for _, args := range [][]string{{"init", "."}, {"apply", ".", "--reconcile-timeout", "5m"}} {
		cmd := exec.Command(kapply, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "KUBECONFIG="+theirs.Kubeconfig)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	code, out := ordapplyWith(ours.Kubeconfig, "apply", "-f", file)
	require.Zero(t, code, out)
	fields := func(cluster *testcluster.Cluster) map[string]any {
		var list struct {
			Items []struct {
				Kind       string
				Metadata   struct{ Name string }
				Data, Spec map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(cluster.Kubectl(t, "get", "-n", "mutation-peer", "configmap/texts", "service/types", "pod/pod-a", "-o", "json")), &list))
		found := map[string]any{}
		for _, item := range list.Items {
			delete(item.Spec, "clusterIP")
			delete(item.Spec, "clusterIPs")
			delete(item.Spec, "nodeName")
			found[item.Kind] = map[string]any{"data": item.Data, "spec": item.Spec}
		}
		return found
	}
	stored := fields(ours)
	require.Len(t, stored, 3)
	require.Equal(t, fields(theirs), stored)
	require.Contains(t, textOf(stored), `"number":"2 of 2"`)
}

func textOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
