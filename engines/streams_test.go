package engines

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// shop returns the built stream of examples/shop.
func shop(t *testing.T) []byte {
	t.Helper()
	kustomize, err := testcluster.Find("kustomize")
	if err != nil {
		testcluster.Skip(t, "kustomize (run `make kustomize`)")
	}
	cmd := exec.Command(kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "examples/shop")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}

// ordapply runs the program on a stream and returns what it printed.
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

// logSize returns how much the audit log has, so that a proof starts after it.
func logSize(t *testing.T, cluster *testcluster.Cluster) int64 {
	t.Helper()
	info, err := os.Stat(cluster.AuditLog())
	require.NoError(t, err)
	return info.Size()
}

// requireKept proves that an engine has kept all gates of a plan.
func requireKept(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string) {
	t.Helper()
	proof, err := Prove(plan, cluster.AuditLog(), from, agent)
	require.NoError(t, err)
	require.Empty(t, proof.Missing)
	require.Empty(t, proof.Broken())
	t.Logf("%s: %d gates, none passed early; %s from the first write to the last resource that became ready", agent, len(proof.Gates), proof.Took.Round(100*time.Millisecond))
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
