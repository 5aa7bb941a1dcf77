package write

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj))
	return &unstructured.Unstructured{Object: obj}
}

func TestEditsOfEveryManifest(t *testing.T) {
	got := Stream{}.WithoutFingerprint(parse(t, `
apiVersion: v1
kind: Secret
metadata:
  name: a
  uid: x
  resourceVersion: "1"
  creationTimestamp: null
  annotations:
    ordapply.dev/layer: app/data
    ordapply.dev/wave: "1"
    ordapply.dev/layer-timeout: 5m
    ordapply.dev/applied: v1:x
    helm.sh/depends-on/layers: "[]"
    helm.sh/depends-on/resource-groups: "[]"
    helm.sh/depends-on/subcharts: "[]"
    kubectl.kubernetes.io/last-applied-configuration: "{}"
    deployment.kubernetes.io/revision: "1"
    mine: "yes"
    empty: null
  managedFields: []
data: {b: Yg==, c: null}
stringData: {a: a, d: null}
`))
	require.Equal(t, parse(t, `
apiVersion: v1
kind: Secret
metadata:
  name: a
  annotations: {ordapply.dev/layer: app/data, deployment.kubernetes.io/revision: "1", mine: "yes", empty: null}
data: {a: YQ==, b: Yg==, c: null, d: ""}
`).Object, got.Object, "a Secret has no revision, so that annotation is the author's")
}

// Values of a Secret's stringData that are not strings are sent for the API
// server to reject: if they were dropped, the Secret would silently lack
// them.
func TestStringDataThatIsNotText(t *testing.T) {
	for _, values := range []string{
		"stringData: {port: 5432}",
		"stringData: {debug: true}",
		"stringData: {list: [a]}",
		"stringData: text",
		"stringData: null",
		"data: [a]\nstringData: {a: a}",
	} {
		secret := parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"+values)
		require.Equal(t, secret.Object, Stream{}.WithoutFingerprint(secret).Object, values)
	}
}

// Labels and annotations that are not maps of strings are sent for the API server to reject.
func TestMarksNeverReplaceOtherEntries(t *testing.T) {
	for metadata, want := range map[string]string{
		`{name: a, labels: {a: 5, b: null}, annotations: {c: 7}}`: `{name: a, labels: {a: 5, b: null, applyset.kubernetes.io/part-of: set}, annotations: {c: 7}}`,
		`{name: a, labels: [x], annotations: x}`:                  `{name: a, labels: [x], annotations: x}`,
		`{name: a, labels: null}`:                                 `{name: a, labels: {applyset.kubernetes.io/part-of: set}}`,
	} {
		body, err := Stream{Set: "set"}.Body(parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: `+metadata+`}`))
		require.NoError(t, err)
		unstructured.RemoveNestedField(body.Object, "metadata", "annotations", applyset.AppliedAnnotation)
		if len(body.GetAnnotations()) == 0 && !strings.Contains(metadata, "annotations") {
			unstructured.RemoveNestedField(body.Object, "metadata", "annotations")
		}
		require.Equal(t, parse(t, want).Object, body.Object["metadata"], metadata)
	}
}

// A status is sent if it is a field like any other.
func TestStatusOfKindsWithoutTheSubresource(t *testing.T) {
	thing := parse(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {phase: Wanted}}`)
	for hasStatus, want := range map[bool]any{true: nil, false: map[string]any{"phase": "Wanted"}} {
		kinds := func(schema.GroupVersionKind) (kube.Kind, bool) { return kube.Kind{HasStatus: hasStatus}, true }
		require.Equal(t, want, Stream{Kinds: kinds}.WithoutFingerprint(thing).Object["status"])
	}
}

// Everything is sent on creation, and later the fields that no other manager owns.
func TestFieldsThatControllersFill(t *testing.T) {
	const own, foreign = "ordapply", "controller"
	hpa := `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`
	scaledObject := `{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: h}, spec: {scaleTargetRef: {name: a}}}`
	otherObject := `{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: h}, spec: {scaleTargetRef: {kind: StatefulSet, name: a}}}`
	rollout := `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: h}, spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: a, scaleDown: onsuccess}}}`
	for name, c := range map[string]struct {
		manifest string
		others   string // of the stream
		fields   string // that the manager owns
		manager  string
		live     string
		want     string // the body besides the identity; "" for all of the manifest
	}{
		"empty CA bundle of one webhook": {
			manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a.b, clientConfig: {caBundle: "", service: {name: s}}}, {name: b, clientConfig: {caBundle: Cg==}}, {name: c, clientConfig: {caBundle: abc}}]}`,
			manager:  foreign, fields: `{"f:webhooks":{"k:{\"name\":\"a.b\"}":{"f:clientConfig":{"f:caBundle":{}}},"k:{\"name\":\"c\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`,
			want: `{webhooks: [{name: a.b, clientConfig: {service: {name: s}}}, {name: b, clientConfig: {caBundle: Cg==}}, {name: c, clientConfig: {caBundle: abc}}]}`,
		},
		"injected CA bundle": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, spec: {conversion: {webhook: {clientConfig: {caBundle: abc}}}, versions: [{schema: {openAPIV3Schema: {default: {caBundle: ""}}}}]}}`,
			manager:  foreign, fields: `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}`,
			want: `{metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, spec: {conversion: {webhook: {clientConfig: {}}}, versions: [{schema: {openAPIV3Schema: {default: {caBundle: ""}}}}]}}`,
		},
		"own CA bundle that is injected from now on": {
			manifest: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {annotations: {cert-manager.io/inject-ca-from-secret: a/b}}, spec: {caBundle: abc}}`,
			manager:  own, fields: `{"f:spec":{"f:caBundle":{}}}`,
		},
		"CA bundle of the API server": {
			manifest: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {annotations: {cert-manager.io/inject-apiserver-ca: "true"}}, spec: {caBundle: abc}}`,
			manager:  foreign, fields: `{"f:spec":{"f:caBundle":{}}}`,
			want: `{metadata: {annotations: {cert-manager.io/inject-apiserver-ca: "true"}}, spec: {}}`,
		},
		"Service of a conversion webhook without a CA bundle": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: replaceme, path: /c}}}}}}`,
			manager:  foreign, fields: `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{},"f:service":{"f:namespace":{}}}}}}}`,
			want: `{spec: {conversion: {webhook: {clientConfig: {service: {name: s, path: /c}}}}}}`,
		},
		"Service of a conversion webhook that is ours": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: replaceme}}}}}}`,
			manager:  own, fields: `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:service":{"f:namespace":{}}}}}}}`,
		},
		"Service of a conversion webhook with a CA bundle": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {conversion: {webhook: {clientConfig: {caBundle: abc, service: {name: s, namespace: n}}}}}}`,
			manager:  foreign, fields: `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:service":{"f:namespace":{}}}}}}}`,
		},
		"Service of a conversion webhook whose CA bundle is injected": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: n}}}}}}`,
			manager:  foreign, fields: `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:service":{"f:namespace":{}}}}}}}`,
		},
		"CA bundle of OpenShift": {
			manifest: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, spec: {caBundle: abc}}`,
			manager:  foreign, fields: `{"f:spec":{"f:caBundle":{}}}`,
			want: `{metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, spec: {}}`,
		},
		"ConfigMap for the CA bundle of OpenShift": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, data: {service-ca.crt: ""}}`,
			manager:  foreign, fields: `{"f:data":{"f:service-ca.crt":{}}}`,
			want: `{metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, data: {}}`,
		},
		"empty Secret that is filled": {
			manifest: `{apiVersion: v1, kind: Secret, data: {a: "", b: ""}}`,
			manager:  foreign, fields: `{"f:data":{"f:b":{}}}`, want: `{data: {a: ""}}`,
		},
		"empty Secret that is ours": {manifest: `{apiVersion: v1, kind: Secret, data: {a: ""}}`, manager: own, fields: `{"f:data":{"f:a":{}}}`},
		"half empty Secret":         {manifest: `{apiVersion: v1, kind: Secret, data: {a: "", b: Yg==}}`, manager: foreign, fields: `{"f:data":{"f:a":{}}}`},
		"aggregated rules": {
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {}, rules: []}`,
			manager:  foreign, fields: `{"f:rules":{}}`, want: `{aggregationRule: {}}`,
		},
		"rules that will be aggregated": {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {}, rules: [{verbs: [get]}]}`, manager: own, fields: `{"f:rules":{}}`},
		"rules":                         {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: []}`, manager: foreign, fields: `{"f:rules":{}}`},
		"bound volume":                  {manifest: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: ""}}`, manager: foreign, fields: `{"f:spec":{"f:volumeName":{}}}`, want: `{spec: {}}`},
		"named volume":                  {manifest: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pv}}`, manager: foreign, fields: `{"f:spec":{"f:volumeName":{}}}`},
		"scaled by an autoscaler": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6, paused: true}}`, others: hpa,
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 8}}`, want: `{spec: {paused: true}}`,
		},
		"scaled by an autoscaler of KEDA": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6}}`, others: scaledObject,
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 8}}`, want: `{spec: {}}`,
		},
		"replaced by a Rollout": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6}}`, others: rollout,
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 0}}`, want: `{spec: {}}`,
		},
		"the Rollout leaves the Deployment as it is": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6}}`, others: strings.Replace(rollout, "onsuccess", "never", 1),
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 0}}`,
		},
		"the autoscaler scales another object": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6}}`, others: otherObject,
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 8}}`,
		},
		"an autoscaler enters": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 6}}`, others: hpa,
			manager: own, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 6}}`,
		},
		"an autoscaler enters and replicas leaves": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {}}`, others: hpa,
			manager: own, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 6}}`, want: `{spec: {replicas: 6}}`,
		},
		"replicas without a value": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: null}}`, others: hpa,
			manager: "kubectl-client-side-apply", fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 6}}`, want: `{spec: {replicas: 6}}`,
		},
		"replicas leaves later": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {}}`, others: hpa,
			manager: foreign, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 8}}`, want: `{spec: {}}`,
		},
		"replicas leaves without an autoscaler": {
			manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {}}`,
			manager:  own, fields: `{"f:spec":{"f:replicas":{}}}`, live: `{spec: {replicas: 6}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := parse(t, c.manifest)
			manifest.SetName("a")
			manifests := map[object.ID]*unstructured.Unstructured{kube.Meta(manifest).ID: manifest}
			if c.others != "" {
				other := parse(t, c.others)
				manifests[kube.Meta(other).ID] = other
			}
			stream := NewStream(manifests, "", nil)
			live := parse(t, "{}")
			if c.live != "" {
				live = parse(t, c.live)
			}
			operation := metav1.ManagedFieldsOperationUpdate
			if c.manager == own {
				operation = metav1.ManagedFieldsOperationApply
			}
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: c.manager, Operation: operation, APIVersion: manifest.GetAPIVersion(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(c.fields)}})
			whole := stream.WithoutFingerprint(manifest)
			require.Equal(t, manifest.Object, whole.Object, "on creation")

			body, err := stream.BodyFor(manifest, live, Owner{Manager: own})
			require.NoError(t, err)
			want := manifest.DeepCopy()
			if c.want != "" {
				want = parse(t, c.want)
				want.SetGroupVersionKind(manifest.GroupVersionKind())
				want.SetName("a")
				require.True(t, stream.DependsOnLive(manifest))
			}
			print, err := applyset.Fingerprint(whole)
			require.NoError(t, err)
			setIn(want, "annotations", applyset.AppliedAnnotation, print)
			require.Equal(t, want.Object, body.Object)
		})
	}
}
