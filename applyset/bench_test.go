package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
)

const benchDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web, team: a, tier: front}, annotations: {note: a}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: app
        image: registry.example/web:1
        ports: [{containerPort: 80, protocol: TCP, name: http}, {containerPort: 90, protocol: TCP, name: metrics}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, value: "3"}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      - {name: proxy, image: registry.example/proxy:1, args: [--port=90]}
      volumes: [{name: config, configMap: {name: web}}]
`

// applied returns a Deployment with its fingerprint, and the object as a list of the cluster
// has it after one apply by "ours" and an update of its status by a controller.
func applied(tb testing.TB) (desired, live *unstructured.Unstructured) {
	desired = &unstructured.Unstructured{}
	require.NoError(tb, yaml.Unmarshal([]byte(benchDeployment), &desired.Object))
	desired.SetAnnotations(map[string]string{"note": "a", applyset.AppliedAnnotation: "print"})
	live = desired.DeepCopy()
	ours := `{"f:metadata":{"f:annotations":{"f:note":{},"f:ordapply.dev/applied":{}},"f:labels":{"f:app":{},"f:team":{},"f:tier":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"B\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"C\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}},"k:{\"containerPort\":90,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{"f:limits":{"f:memory":{}},"f:requests":{"f:cpu":{},"f:memory":{}}},"f:volumeMounts":{"k:{\"mountPath\":\"/etc/web\"}":{".":{},"f:mountPath":{},"f:name":{}}}},"k:{\"name\":\"proxy\"}":{".":{},"f:args":{},"f:image":{},"f:name":{}}},"f:serviceAccountName":{},"f:volumes":{"k:{\"name\":\"config\"}":{".":{},"f:configMap":{"f:name":{}},"f:name":{}}}}}}}`
	status := `{"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}},"f:status":{"f:availableReplicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastUpdateTime":{},"f:message":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}`
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "ours", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(ours)},
		{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(status)},
	})
	text, err := live.MarshalJSON()
	require.NoError(tb, err)
	live = &unstructured.Unstructured{}
	require.NoError(tb, runtime.DecodeInto(unstructured.UnstructuredJSONScheme, text, live))
	return desired, live
}

// BenchmarkProve measures the comparison of an unchanged object, as a run without changes
// makes for each.
func BenchmarkProve(b *testing.B) {
	desired, live := applied(b)
	require.Equal(b, applyset.Same, applyset.Prove(desired, live, "ours"))
	for b.Loop() {
		applyset.Prove(desired, live, "ours")
	}
}

// BenchmarkFieldSets measures the conversion of the same managedFields to sets, which Prove
// does without.
func BenchmarkFieldSets(b *testing.B) {
	_, live := applied(b)
	for b.Loop() {
		var sets []*fieldpath.Set
		for _, entry := range live.GetManagedFields() {
			sets = append(sets, applyset.FieldsOf(entry))
		}
		require.Len(b, sets, 2)
	}
}
