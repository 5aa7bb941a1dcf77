package desired

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj))
	return &unstructured.Unstructured{Object: obj}
}

func TestDesiredLeavesOutWhatIsNotOurs(t *testing.T) {
	got := desired(parse(t, `
apiVersion: v1
kind: Secret
metadata:
  name: a
  uid: x
  resourceVersion: "1"
  creationTimestamp: null
  annotations: {ordapply.dev/layer: app/data, ordapply.dev/wave: "1", ordapply.dev/layer-timeout: 5m, helm.sh/depends-on/layers: "[]", helm.sh/depends-on/resource-groups: "[]", helm.sh/depends-on/subcharts: "[]", mine: "yes"}
  managedFields: []
data: {b: Yg==}
stringData: {a: a}
status: {}
`), nil, false)
	require.Equal(t, parse(t, `
apiVersion: v1
kind: Secret
metadata:
  name: a
  annotations: {ordapply.dev/layer: app/data, mine: "yes"}
data: {a: YQ==, b: Yg==}
`).Object, got.Object)
}

// Values of a Secret's stringData that are not strings are sent for the API
// server to reject: if they were dropped, the Secret would silently lack
// them.
func TestDesiredKeepsWhatStringDataCannotHold(t *testing.T) {
	for _, values := range []string{
		"stringData: {port: 5432}",
		"stringData: {debug: true}",
		"stringData: {list: [a]}",
		"stringData: text",
		"data: [a]\nstringData: {a: a}",
	} {
		secret := parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"+values)
		got := desired(secret, nil, false)
		delete(got.Object, "data")
		want := secret.DeepCopy()
		delete(want.Object, "data")
		require.Equal(t, want.Object, got.Object, values)
	}
}

// Server-side apply rejects a null that create treats as absent; where the
// schema says nullable, or nothing, it is a value like any other.
func TestDesiredDropsNullsUnlessNullable(t *testing.T) {
	crd := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              limit: {type: integer, nullable: true}
              csi: {type: object}
              list: {items: {properties: {kept: {nullable: true}}}}
              map: {additionalProperties: {nullable: true}}
              values: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
              any: {x-kubernetes-preserve-unknown-fields: true}
`)
	thing := parse(t, `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, labels: {a: null}}
spec:
  limit: null
  csi: null
  unknown: null
  list: [{kept: null, dropped: null}, null]
  map: {x: null}
  values: {known: null, cpu: null, deep: {cpu: null, list: [{a: null}]}}
  any: null
`)
	schemas := streamSchemas(map[object.ID]*unstructured.Unstructured{{}: crd})
	got := desired(thing, schemas[thing.GroupVersionKind()], false)
	require.Equal(t, parse(t, `{limit: null, list: [{kept: null}, null], map: {x: null}, values: {cpu: null, deep: {cpu: null, list: [{a: null}]}}, any: null}`).Object, got.Object["spec"])
	unknown := desired(thing, nil, false)
	require.Equal(t, thing.Object["spec"], unknown.Object["spec"], "the server says which it refuses")
	require.Equal(t, parse(t, `{name: a, labels: {}}`).Object, unknown.Object["metadata"])
	role := parse(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: null}`)
	require.NotContains(t, desired(role, nil, false).Object, "rules")
}

// A second apply must not overwrite what controllers wrote into the live
// object.
func TestDesiredLeavesFieldsToControllers(t *testing.T) {
	for name, c := range map[string]struct {
		in, out string
		scaled  bool
	}{
		"empty CA bundle": {
			in:  `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {caBundle: "", service: {name: s}}}, {name: b, clientConfig: {caBundle: Cg==}}, {name: c, clientConfig: {caBundle: abc}}]}`,
			out: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {service: {name: s}}}, {name: b, clientConfig: {}}, {name: c, clientConfig: {caBundle: abc}}]}`,
		},
		"injected CA bundle": {
			in:  `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, spec: {conversion: {webhook: {clientConfig: {caBundle: abc}}}}}`,
			out: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, spec: {conversion: {webhook: {clientConfig: {}}}}}`,
		},
		"CA bundle injected from a Secret": {
			in:  `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {annotations: {cert-manager.io/inject-ca-from-secret: a/b}}, webhooks: [{name: a, clientConfig: {caBundle: abc}}]}`,
			out: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {annotations: {cert-manager.io/inject-ca-from-secret: a/b}}, webhooks: [{name: a, clientConfig: {}}]}`,
		},
		"CA bundle of the API server": {
			in:  `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {annotations: {cert-manager.io/inject-apiserver-ca: "true"}}, webhooks: [{name: a, clientConfig: {caBundle: abc}}]}`,
			out: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {annotations: {cert-manager.io/inject-apiserver-ca: "true"}}, webhooks: [{name: a, clientConfig: {}}]}`,
		},
		"empty Secret":      {in: `{apiVersion: v1, kind: Secret, data: {a: "", b: ""}}`, out: `{apiVersion: v1, kind: Secret}`},
		"half empty Secret": {in: `{apiVersion: v1, kind: Secret, data: {a: "", b: Yg==}}`, out: `{apiVersion: v1, kind: Secret, data: {a: "", b: Yg==}}`},
		"aggregated role":   {in: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {}, rules: []}`, out: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {}}`},
		"scaled target":     {in: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}}`, out: `{apiVersion: apps/v1, kind: Deployment, spec: {}}`, scaled: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, parse(t, c.out).Object, desired(parse(t, c.in), nil, c.scaled).Object)
		})
	}
	hpa := parse(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
	require.Equal(t, map[object.ID]bool{{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}: true},
		scaledTargets(map[object.ID]*unstructured.Unstructured{kube.Meta(hpa).ID: hpa}))
}
