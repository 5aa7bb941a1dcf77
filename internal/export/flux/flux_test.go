package flux_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/export/flux"
	"github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// streamOf plans a stream.
func streamOf(t *testing.T, text string) *units.Stream {
	t.Helper()
	resources := plancase.Parse(t, []byte(text))
	plan, err := planner.Build(resources, ordering.Options{})
	require.NoError(t, err)
	s := &units.Stream{Plan: plan, Objects: map[object.ID]*unstructured.Unstructured{}, Assessor: &health.Assessor{}}
	for _, r := range resources {
		s.Objects[r.ID] = &unstructured.Unstructured{Object: r.Object}
	}
	return s
}

func options() flux.Options {
	return flux.Options{
		Name: "x", Namespace: "flux-system", Source: flux.Source{Kind: "OCIRepository", URL: "oci://registry.example/x", Ref: "latest"},
		Interval: time.Hour, Retry: time.Minute, Timeout: 5 * time.Minute,
	}
}

// kustomization has the fields that the tests read.
type kustomization struct {
	Metadata struct{ Name string }
	Spec     struct {
		Wait             bool
		Timeout          string
		DependsOn        []struct{ Name string }
		HealthChecks     []struct{ APIVersion, Kind, Namespace, Name string }
		HealthCheckExprs []struct{ APIVersion, Kind, Current, Failed string }
	}
}

func exported(t *testing.T, s *units.Stream) (*units.Tree, map[string]kustomization) {
	t.Helper()
	tree, err := flux.Export(s, options())
	require.NoError(t, err)
	all := map[string]kustomization{}
	for doc := range strings.SplitSeq(string(tree.Files["flux/kustomizations.yaml"]), "---\n") {
		var k kustomization
		require.NoError(t, yaml.Unmarshal([]byte(doc), &k))
		all[k.Metadata.Name] = k
	}
	return tree, all
}

const gizmoCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.lab.example}
spec:
  group: lab.example
  names: {kind: Gizmo, plural: gizmos}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}]
`

// holds evaluates a condition as Flux does: parsed and not type-checked, with the fields
// of the object as variables. An error counts as not ready yet.
func holds(t *testing.T, condition string, obj map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	require.NoError(t, err)
	tree, issues := env.Parse(condition)
	require.NoError(t, issues.Err(), condition)
	program, err := env.Program(tree)
	require.NoError(t, err, condition)
	value, _, err := program.Eval(obj)
	return err == nil && value.Value() == true
}

// Without a condition Flux takes a custom resource without a status for ready. A layer
// that others wait for has one: of its annotation, of a rule, or of the words that most
// controllers use.
func TestCustomResourcesHoldTheGate(t *testing.T) {
	tree, all := exported(t, streamOf(t, gizmoCRD+`---
apiVersion: lab.example/v1
kind: Gizmo
metadata: {name: own, namespace: default, annotations: {ordapply.dev/ready-when: 'self.status.level == "high"'}}
---
apiVersion: lab.example/v1
kind: Gizmo
metadata: {name: plain, namespace: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: user, namespace: default, annotations: {ordapply.dev/depends-on: 'lab.example/namespaces/default/Gizmo/own, lab.example/namespaces/default/Gizmo/plain'}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
`))
	var expressions []string
	for _, k := range all {
		for _, x := range k.Spec.HealthCheckExprs {
			require.Equal(t, "Gizmo", x.Kind)
			expressions = append(expressions, x.Current)
		}
	}
	require.Len(t, expressions, 1)
	for name, cases := range map[string]map[string]bool{
		"own":   {`{}`: false, `{level: low}`: false, `{level: high}`: true, `{phase: Ready}`: false},
		"plain": {`{}`: false, `{level: high}`: false, `{phase: Ready}`: true, `{conditions: [{type: Ready, status: "True"}]}`: true, `{conditions: [{type: Ready, status: "False"}]}`: false},
	} {
		for status, want := range cases {
			obj := map[string]any{"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": map[string]any{}}
			require.NoError(t, yaml.Unmarshal([]byte("status: "+status), &obj))
			require.Equal(t, want, holds(t, expressions[0], obj), "%s %s: %s", name, status, expressions[0])
			delete(obj["metadata"].(map[string]any), "namespace") // where an export without the CRD gave one to a cluster-scoped kind
			require.Equal(t, want, holds(t, expressions[0], obj), "%s %s without a namespace: %s", name, status, expressions[0])
			delete(obj, "status")
			require.False(t, holds(t, expressions[0], obj), "%s without a status", name)
		}
	}
	require.Contains(t, strings.Join(tree.Remarks, "\n"), "Gizmo.lab.example: no rule says when it is ready")
}

// A claim that is bound only when a Pod uses it is waited for with the Pod, not before.
func TestClaimsAreWaitedForWithTheirPods(t *testing.T) {
	_, all := exported(t, streamOf(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {ordapply.dev/layer: o/first, ordapply.dev/wave: "0"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: user, namespace: default, annotations: {ordapply.dev/layer: o/second, ordapply.dev/wave: "1"}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}}
`))
	require.False(t, all["x-first"].Spec.Wait)
	require.Empty(t, all["x-first"].Spec.HealthChecks)
	require.Equal(t, "x-first", all["x-second"].Spec.DependsOn[0].Name)
}

// Every rule that comes with ordapply can be translated for Flux.
func TestBuiltInRulesForFlux(t *testing.T) {
	text, err := os.ReadFile("../../../health/builtin.yaml")
	require.NoError(t, err)
	var file struct {
		Rules []struct{ Kind, ReadyWhen, FailedWhen, DegradedWhen string }
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Greater(t, len(file.Rules), 50)
	for _, r := range file.Rules {
		for _, source := range []string{r.ReadyWhen, r.FailedWhen, r.DegradedWhen} {
			if source == "" {
				continue
			}
			require.NoError(t, condition.CheckForFlux(source), r.Kind)
			_, err := condition.WithoutSelf(source)
			require.NoError(t, err, r.Kind)
			_, err = condition.Guarded(source)
			require.NoError(t, err, r.Kind)
		}
	}
}

func TestTimeoutsAreAtLeastWhatFluxWaits(t *testing.T) {
	tree, all := exported(t, streamOf(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: quick, namespace: default, annotations: {ordapply.dev/layer: o/first, ordapply.dev/wave: "0", ordapply.dev/layer-timeout: 10s}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
`))
	require.Equal(t, "30s", all["x-first"].Spec.Timeout)
	require.Contains(t, strings.Join(tree.Remarks, "\n"), "first: its timeout of 10s becomes 30s")
}

// The tree lists the losses of each resource.
func TestWhatFluxCannotKeep(t *testing.T) {
	tree, _ := exported(t, streamOf(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: waits, namespace: default, annotations: {ordapply.dev/depends-on: 'external:/namespaces/other/Secret/login', ordapply.dev/ignore-fields: data.a}}
data: {a: b}
`))
	require.Equal(t, []string{
		"ConfigMap default/waits does not wait for Secret other/login, which is outside the stream",
		"ConfigMap default/waits leaves no field to others, which ordapply.dev/ignore-fields asks for: Flux takes every field of a manifest",
	}, tree.Lost)
}
