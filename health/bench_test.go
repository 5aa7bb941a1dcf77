package health_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data))
	return obj
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generation: 3, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "2"}}
spec: {replicas: 3, progressDeadlineSeconds: 600, template: {spec: {containers: [{name: web, image: "web:2"}]}}}
status:
  observedGeneration: 3
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: 'ReplicaSet "web-1" has successfully progressed.'}
`

const custom = `
apiVersion: shop.example.com/v1
kind: Store
metadata: {name: main, generation: 3}
spec: {replicas: 3}
status:
  observedGeneration: 3
  phase: Running
  readyReplicas: 3
  replicas: 3
  endpoints: [{name: a, state: Up}, {name: b, state: Up}]
  conditions:
  - {type: Ready, status: "True", reason: AllGood, message: the store is open}
  - {type: BackupSucceeded, status: "False", reason: NotDue}
  - {type: Reconciling, status: "False", reason: Done}
`

func BenchmarkAssess(b *testing.B) {
	ruled := parse(b, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, generation: 3}
spec: {syncPolicy: {automated: {}}}
status: {health: {status: Healthy}, sync: {status: Synced}, operationState: {phase: Succeeded}}
`)
	annotated := parse(b, custom)
	annotated.SetAnnotations(map[string]string{"ordapply.dev/ready-when": `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`})
	lua, err := health.ParseArgoCD(map[string]string{"resource.customizations.health.shop.example.com_Store": luaByPhase})
	require.NoError(b, err)
	for _, bench := range []struct {
		name     string
		assessor *health.Assessor
		obj      *unstructured.Unstructured
	}{
		{"Deployment", &health.Assessor{}, parse(b, deployment)},
		{"generic", &health.Assessor{}, parse(b, custom)},
		{"built-in rule", &health.Assessor{}, ruled},
		{"annotation", &health.Assessor{}, annotated},
		{"Lua", &health.Assessor{ArgoCD: lua}, parse(b, custom)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := bench.assessor.Assess(bench.obj); a.Verdict != health.Ready {
					b.Fatal(a)
				}
			}
		})
	}
}

const luaByPhase = `
hs = {status = "Progressing", message = "no phase yet"}
if obj.status ~= nil and obj.status.phase ~= nil then
  hs.message = "phase " .. obj.status.phase
  if obj.status.phase == "Running" then
    hs.status = "Healthy"
  end
end
return hs
`
