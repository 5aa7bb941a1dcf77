package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// shop returns the built stream of examples/shop.
func shop(t *testing.T) []byte {
	t.Helper()
	kustomize, err := testcluster.Find("kustomize")
	if err != nil {
		testcluster.Skip(t, "kustomize (run `make kustomize`)")
	}
	cmd := exec.Command(kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "examples/shop")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}

// ordapply runs the program on a stream and returns its output.
func ordapply(t *testing.T, stream []byte, args ...string) []byte {
	t.Helper()
	program, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "ordapply (run `make build`)")
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stream), &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.Bytes()
}

// planOf returns the plan of a stream.
func planOf(t *testing.T, stream []byte, args ...string) Plan {
	t.Helper()
	var plan Plan
	require.NoError(t, json.Unmarshal(ordapply(t, stream, append([]string{"plan", "--dry-run=client", "-o", "json"}, args...)...), &plan))
	require.NotEmpty(t, plan.Steps)
	return plan
}

// logSize returns the size of the audit log, so that a proof starts after it.
func logSize(t *testing.T, cluster *testcluster.Cluster) int64 {
	t.Helper()
	info, err := os.Stat(cluster.AuditLog())
	require.NoError(t, err)
	return info.Size()
}

// requireKept proves that an engine has kept all gates of a plan, and returns how long it
// took from the first write to the last resource that became ready.
func requireKept(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string) time.Duration {
	t.Helper()
	proof, err := Prove(plan, cluster.AuditLog(), from, agent)
	require.NoError(t, err)
	require.Empty(t, proof.Missing)
	require.Empty(t, proof.Broken())
	t.Logf("%s: %d gates, none passed early; %s from the first write to the last resource that became ready", agent, len(proof.Gates), proof.Took.Round(100*time.Millisecond))
	return proof.Took
}

// requireBroken proves that the witness finds gates that were passed early.
func requireBroken(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string) {
	t.Helper()
	proof, err := Prove(plan, cluster.AuditLog(), from, agent)
	require.NoError(t, err)
	require.Empty(t, proof.Missing)
	require.NotEmpty(t, proof.Broken(), "the trap is closed by something else")
	t.Logf("broken as expected: %v", proof.Broken())
}

// untilWritten waits until an agent has written all resources of a plan.
func untilWritten(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string, limit time.Duration, status func() string) {
	t.Helper()
	var missing []string
	var err error
	wait(t, limit, func() bool {
		missing, err = Unwritten(plan, cluster.AuditLog(), from, agent)
		return err == nil && len(missing) == 0
	}, func() string { return fmt.Sprintf("not written: %v, %v\n%s", missing, err, status()) })
}

// configMap is the key of a ConfigMap.
func configMap(namespace, name string) auditlog.Key {
	return auditlog.Key{Resource: "configmaps", Namespace: namespace, Name: name}
}

// untilIsWritten waits until an object is written.
func untilIsWritten(t *testing.T, cluster *testcluster.Cluster, from int64, key auditlog.Key, limit time.Duration, status func() string) {
	t.Helper()
	wait(t, limit, func() bool { return isWritten(t, cluster, from, key) }, func() string { return fmt.Sprintf("%v was not written in %s\n%s", key, limit, status()) })
}

// isWritten reports whether an object was written after an offset of the log, by any
// client; dry runs and writes of its status do not count.
func isWritten(t *testing.T, cluster *testcluster.Cluster, from int64, key auditlog.Key) bool {
	t.Helper()
	requests, err := auditlog.Requests(cluster.AuditLog(), from)
	require.NoError(t, err)
	return slices.ContainsFunc(requests, func(r auditlog.Request) bool {
		return r.Key == key && !r.DryRun && r.Subresource == "" && r.Code < 300 && (r.Verb == "patch" || r.Verb == "create" || r.Verb == "update")
	})
}

// staysUnwritten requires that an object is not written for some time.
func staysUnwritten(t *testing.T, cluster *testcluster.Cluster, from int64, key auditlog.Key, during time.Duration) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(time.Second) {
		require.False(t, isWritten(t, cluster, from, key), "%v was written", key)
	}
}

// exists reports whether the cluster has an object.
func exists(cluster *testcluster.Cluster, kind, namespace, name string) bool {
	_, err := cluster.TryKubectl("get", kind, "-n", namespace, name)
	return err == nil
}

// edit replaces a text in a file of a tree.
func edit(t *testing.T, tree, file, old, changed string) {
	t.Helper()
	path := filepath.Join(tree, filepath.FromSlash(file))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, changed)), 0o600))
}

// inNamespace returns a stream with another namespace.
func inNamespace(stream, namespace string) []byte {
	return []byte(strings.ReplaceAll(stream, "NAMESPACE", namespace))
}

// layersStream has a layer of a Deployment, and one after it.
const layersStream = `apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/data, ordapply.dev/wave: "0", ordapply.dev/layer-timeout: 30s}}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {localcluster/ready-after: 5s}}
    spec: {containers: [{name: db, image: "db:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/web, ordapply.dev/wave: "1"}}
data: {a: b}
`

// claimStream has a claim, which is bound only when a Pod uses it, in a layer before that
// Pod's.
const claimStream = `apiVersion: v1
kind: Namespace
metadata: {name: claim}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: claim, annotations: {ordapply.dev/layer: o/volumes, ordapply.dev/wave: "0"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: claim, annotations: {ordapply.dev/layer: o/data, ordapply.dev/wave: "1"}}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {localcluster/ready-after: 5s}}
    spec:
      containers: [{name: db, image: "db:1", volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: claim, annotations: {ordapply.dev/layer: o/web, ordapply.dev/wave: "2"}}
`

// gizmoStream has a custom resource with a condition, whose status nothing writes.
const gizmoStream = `apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.lab.example}
spec:
  group: lab.example
  names: {kind: Gizmo, plural: gizmos, singular: gizmo}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
---
apiVersion: lab.example/v1
kind: Gizmo
metadata:
  name: g
  namespace: NAMESPACE
  annotations: {ordapply.dev/layer: o/data, ordapply.dev/wave: "0", ordapply.dev/ready-when: 'self.status.level == "high"'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/web, ordapply.dev/wave: "1"}}
`

// failingStream is layersStream with a Deployment that is never ready.
func failingStream(namespace string) []byte {
	return inNamespace(strings.Replace(layersStream, "localcluster/ready-after: 5s", "localcluster/behaviour: never-ready", 1), namespace)
}

// revisions returns two revisions of a stream: the second changes an early layer and a late
// one, and lacks a ConfigMap of a layer between them.
func revisions(namespace string) (first, second []byte) {
	middle := `---
apiVersion: v1
kind: ConfigMap
metadata: {name: middle, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/middle, ordapply.dev/wave: "1"}}
data: {a: b}
`
	stay := strings.ReplaceAll(middle, "name: middle", "name: stays")
	stream := strings.Replace(layersStream, `ordapply.dev/wave: "1"`, `ordapply.dev/wave: "2"`, 1) + stay
	first = inNamespace(stream+middle, namespace)
	stream = strings.Replace(strings.Replace(stream, "db:1", "db:2", 1), "ready-after: 5s", "ready-after: 15s", 1)
	return first, inNamespace(strings.Replace(stream, "data: {a: b}", "data: {a: c}", 1), namespace)
}

// deletionStream has four layers, and a CRD.
func deletionStream(namespace string) []byte {
	return inNamespace(strings.Replace(layersStream, "localcluster/ready-after: 5s", "localcluster/ready-after: 1s", 1)+`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: last, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/last, ordapply.dev/wave: "2"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: site, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/last, ordapply.dev/wave: "2"}}
spec:
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec: {containers: [{name: site, image: "site:1"}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAMESPACE.example}
spec:
  group: NAMESPACE.example
  names: {kind: Thing, plural: things, singular: thing}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: NAMESPACE.example/v1
kind: Thing
metadata: {name: thing, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/web, ordapply.dev/wave: "1"}}
`, namespace)
}
