package health_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
)

func TestUndatedStatusesAreMarked(t *testing.T) {
	for status, undated := range map[string]bool{
		`{phase: Failed}`: true,
		`{}`:              true,
		`{phase: Failed, conditions: [{type: Paused, status: "False", observedGeneration: 2}]}`:                               true, // it is the phase that decides
		`{conditions: [{type: Ready, status: "True"}, {type: Paused, status: "False", observedGeneration: 2}]}`:               true,
		`{phase: Ready, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`:                                  false,
		`{parents: [{controllerName: example.com/a, conditions: [{type: Accepted, status: "True", observedGeneration: 2}]}]}`: false,
		`{conditions: [{type: Ready, status: "False"}]}`:                                                                      true,
		`{conditions: [{type: Ready, status: "False", observedGeneration: 2}]}`:                                               false,
		`{observedGeneration: 1, phase: Failed}`:                                                                              false,
		`{observedGeneration: 2, phase: Failed}`:                                                                              false,
	} {
		obj := parse(t, "{apiVersion: shop.example.com/v1, kind: Store, metadata: {name: a, generation: 2}, status: "+status+"}")
		require.Equal(t, undated, health.Assess(obj).WithoutGeneration, status)
	}
	require.False(t, health.Assess(parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")).WithoutGeneration)
}

// Failed is final only if the status is about the current generation.
func TestFinalFailures(t *testing.T) {
	for status, final := range map[string]bool{
		`{observedGeneration: 2, conditions: [{type: Stalled, status: "True"}]}`:                                     true,
		`{conditions: [{type: Stalled, status: "True", observedGeneration: 2}]}`:                                     true,
		`{conditions: [{type: Stalled, status: "True"}]}`:                                                            false,
		`{observedGeneration: 2, phase: InstallFailed}`:                                                              true,
		`{phase: InstallFailed}`:                                                                                     false,
		`{observedGeneration: 2, conditions: [{type: Degraded, status: "True"}]}`:                                    false,
		`{observedGeneration: 2, conditions: [{type: Stalled, status: "False"}]}`:                                    false,
		`{observedGeneration: 2, phase: Failed, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`: true,
	} {
		a := health.Assess(parse(t, "{apiVersion: shop.example.com/v1, kind: Store, metadata: {name: a, generation: 2}, status: "+status+"}"))
		require.Equal(t, final, a.Final, "%s: %+v", status, a)
		require.True(t, !a.Final || a.Verdict == health.Failed, status)
	}
}

func TestOnlyNoStatusEndsWithTheGraceTime(t *testing.T) {
	var assessor health.Assessor
	waiting := assessor.Assess(parse(t, "{apiVersion: shop.example.com/v1, kind: Store, metadata: {name: a}, status: {phase: Pending}}"))
	require.Equal(t, health.Progressing, waiting.Verdict)
	require.Equal(t, waiting, assessor.AfterGrace(waiting))
}

// A kind with a rule gets its status in time, or the wait times out: it is never assumed to
// be ready. A rule with a wildcard waits if the kind of the object has a status.
func TestRulesWaitForAStatus(t *testing.T) {
	var builtIn health.Assessor
	a := builtIn.Assess(parse(t, "{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: a}}"))
	require.Equal(t, health.Progressing, a.Verdict)
	require.Equal(t, a, builtIn.AfterGrace(a))

	rules, err := health.ParseRules([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: HealthRules, rules: [{group: example.com, kind: "*", readyWhen: self.status.tills > 0}]}`))
	require.NoError(t, err)
	a = (&health.Assessor{Rules: rules}).Assess(parse(t, "{apiVersion: example.com/v1, kind: Store, metadata: {name: a}}"))
	require.Equal(t, health.Progressing, a.Verdict)
	require.True(t, a.AwaitsStatus(true))
	require.False(t, a.AwaitsStatus(false))
	a = builtIn.Assess(parse(t, "{apiVersion: example.com/v1, kind: Store, metadata: {name: a}}"))
	require.False(t, a.AwaitsStatus(true), "no rule reads it")
}

// A kind is expected to get a status if its CRD describes one, with or without the
// subresource.
func TestExpectsStatus(t *testing.T) {
	for version, want := range map[string]bool{
		`{subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}`:                                               true,
		`{subresources: {}, schema: {openAPIV3Schema: {properties: {status: {type: object}}}}}`:                                 true,
		`{additionalPrinterColumns: [{name: Health, type: string, jsonPath: .status.health.status}], schema: {}}`:               true,
		`{additionalPrinterColumns: [{name: Size, type: string, jsonPath: .spec.size}], subresources: {scale: {}}, schema: {}}`: false,
	} {
		var assessor health.Assessor
		crd := parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, names: {kind: Store}, versions: ["+version+"]}}")
		require.NoError(t, unstructured.SetNestedField(crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any), "v1", "name"))
		assessor.Learn(crd)
		require.Equal(t, want, assessor.ExpectsStatus(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Store"}), version)
	}
}

// The zero Assessor and Assess agree, and an Assessor is safe for concurrent
// use.
func TestAssessorIsSharedSafely(t *testing.T) {
	var assessor health.Assessor
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			obj := parse(t, custom)
			obj.SetAnnotations(map[string]string{"ordapply.dev/ready-when": []string{"self.status.phase == 'Running'", "self.status.readyReplicas == 3"}[i%2]})
			for range 20 {
				assert.Equal(t, health.Assess(obj), assessor.Assess(obj))
			}
		})
	}
	group.Wait()
}

func TestLuaRunsForASecondAtMost(t *testing.T) {
	lua, err := health.ParseArgoCD(map[string]string{"resource.customizations.health.shop.example.com_Store": "while true do end"})
	require.NoError(t, err)
	started := time.Now()
	a := (&health.Assessor{ArgoCD: lua}).Assess(parse(t, custom))
	require.Equal(t, health.Unknown, a.Verdict)
	require.Less(t, time.Since(started), 10*time.Second) // with tolerance for a busy machine
}

// The order of lists and fields in a status does not matter.
func TestOrderInAStatusDoesNotMatter(t *testing.T) {
	obj := parse(t, `
apiVersion: shop.example.com/v1
kind: Store
metadata: {name: main, generation: 3}
status:
  phase: Running
  errorA: x
  cache: {state: Starting, ready: false}
  queue: {state: Starting, error: lost}
  conditions:
  - {type: Stocked, status: "False", reason: Waiting}
  - {type: Staffed, status: "False", reason: Waiting}
  - {type: Lit, status: "Unknown"}
  - {type: DoorsInstalled, status: "False"}
  - {type: TillsInstalled, status: "False"}
`)
	want := health.Assess(obj)
	require.Equal(t, health.Progressing, want.Verdict)
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	require.NoError(t, err)
	for range 200 {
		shuffled := slices.Clone(conditions)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.NoError(t, unstructured.SetNestedSlice(obj.Object, shuffled, "status", "conditions"))
		require.Equal(t, want, health.Assess(obj))
	}
}

// Assess returns a reason and a rule for any JSON, deterministically, and does
// not modify the object.
func FuzzAssess(f *testing.F) {
	for _, seed := range []string{
		deployment, custom,
		`{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Odd, containerStatuses: [1, {name: 2, state: 3}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, containerStatuses: [{state: {waiting: {reason: 1}}}]}}`,
		`{apiVersion: batch/v1, kind: Job, status: {conditions: {a: b}, startTime: 3}, metadata: {generation: x}}`,
		`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: "3"}, status: {observedGeneration: x}}`,
		`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1, deletionTimestamp: 3}, status: []}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [1, {clientConfig: {service: 3}}, {clientConfig: {caBundle: 3, service: {}}}]}`,
		`{apiVersion: a.b/v1, kind: Store, metadata: {annotations: {ordapply.dev/ready-when: "self.status", ordapply.dev/failed-when: "self[0]"}}, status: true}`,
		`{apiVersion: a.b/v1, kind: StoreJob, metadata: {annotations: {helm.sh/readiness-success: "{..a[?(@.b)]} == 1", helm.sh/readiness-failure: "{[0:-1]} > 2"}}, status: [[{b: 1}]]}`,
		`{apiVersion: gateway.solo.io/v1, kind: X, status: {statuses: [1]}}`,
		`{apiVersion: ceph.rook.io/v1, kind: CephCluster, status: {phase: null, ceph: 3}}`,
		`{apiVersion: a.b/v1, kind: Store, status: {readyReplicas: 1e300, replicas: -1, parents: [{controllerName: a, conditions: {}}], ready: 1, size: "2"}}`,
		`{}`,
	} {
		data, err := yaml.YAMLToJSON([]byte(seed))
		require.NoError(f, err)
		f.Add(data)
	}
	assessor := &health.Assessor{}
	f.Fuzz(func(t *testing.T, data []byte) {
		obj := &unstructured.Unstructured{}
		if json.Unmarshal(data, &obj.Object) != nil || obj.Object == nil {
			return
		}
		before := obj.DeepCopy()
		a := assessor.Assess(obj)
		require.NotEmpty(t, a.Verdict.String())
		require.NotEmpty(t, a.Reason)
		require.NotEmpty(t, a.Rule)
		require.Equal(t, a, assessor.Assess(obj))
		require.Equal(t, before, obj)
		_ = assessor.Check(obj)
	})
}
