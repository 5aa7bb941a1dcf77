package applyset_test

import (
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

func b64sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:1
        args: [--port, "80"]
        ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}, {containerPort: 81, protocol: UDP}]
        resources: {}
`

// webFields are the managedFields of web.
const webFields = `
f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}, f:labels: {f:app: {}}}
f:spec:
  f:template:
    f:spec:
      f:containers:
        k:{"name":"web"}:
          .: {}
          f:name: {}
          f:image: {}
          f:args: {}
          f:ports:
            k:{"containerPort":80,"protocol":"TCP"}: {.: {}, f:containerPort: {}}
            k:{"containerPort":80,"protocol":"UDP"}: {.: {}, f:containerPort: {}, f:protocol: {}}
            k:{"containerPort":81,"protocol":"UDP"}: {.: {}, f:containerPort: {}, f:protocol: {}}
          f:resources: {}
`

func marked(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := parse(t, text)
	print, err := applyset.Fingerprint(obj)
	require.NoError(t, err)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[applyset.AppliedAnnotation] = print
	obj.SetAnnotations(annotations)
	return obj
}

// live returns an object as the server would store it.
func live(t *testing.T, desired *unstructured.Unstructured, fields string) *unstructured.Unstructured {
	t.Helper()
	out := desired.DeepCopy()
	containers, _, _ := unstructured.NestedSlice(out.Object, "spec", "template", "spec", "containers")
	if len(containers) > 0 { // with the default for the key
		containers[0].(map[string]any)["ports"].([]any)[0].(map[string]any)["protocol"] = "TCP"
		require.NoError(t, unstructured.SetNestedSlice(out.Object, containers, "spec", "template", "spec", "containers"))
	}
	out.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": map[string]any{}},
		map[string]any{"manager": "ordapply", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": parse(t, fields).Object},
	}
	return out
}

func TestFingerprintDoesNotCountItself(t *testing.T) {
	for _, text := range []string{web, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {b: c}}}`} {
		obj := marked(t, text)
		again, err := applyset.Fingerprint(obj)
		require.NoError(t, err)
		require.Equal(t, obj.GetAnnotations()[applyset.AppliedAnnotation], again)
		require.Contains(t, obj.GetAnnotations(), applyset.AppliedAnnotation, "the object stays as it was")
	}
}

// isUnchanged reports whether an apply is proven to change nothing.
func isUnchanged(desired, live *unstructured.Unstructured, manager string) bool {
	return applyset.Prove(desired, live, manager) == applyset.Same
}

func TestUnchanged(t *testing.T) {
	desired := marked(t, web)
	require.True(t, isUnchanged(desired, live(t, desired, webFields), "ordapply"))
	require.False(t, isUnchanged(desired, live(t, desired, webFields), "ordapply:set"), "applied by another manager")
	require.False(t, isUnchanged(parse(t, web), live(t, desired, webFields), "ordapply"), "without a fingerprint")

	later := desired.DeepCopy()
	later.SetAPIVersion("apps/v2")
	require.False(t, isUnchanged(later, live(t, desired, webFields), "ordapply"))

	going := live(t, desired, webFields)
	going.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	require.False(t, isUnchanged(desired, going, "ordapply"))

	other := live(t, desired, webFields)
	other.SetAnnotations(map[string]string{applyset.AppliedAnnotation: "v1:other"})
	require.False(t, isUnchanged(desired, other, "ordapply"))
}

// Every field that another manager took is detected.
func TestAnyFieldThatIsNoLongerOursIsFound(t *testing.T) {
	desired := marked(t, web)
	full := parse(t, webFields).Object
	taken := 0
	var without func(fields map[string]any)
	without = func(fields map[string]any) {
		for key, below := range fields {
			if key == "." || key == "f:spec" || key == "f:template" { // {} would mean the whole
				without(below.(map[string]any))
				continue
			}
			delete(fields, key)
			changed := live(t, desired, "{}")
			entries := changed.Object["metadata"].(map[string]any)["managedFields"].([]any)
			entries[1].(map[string]any)["fieldsV1"] = full
			if _, position := fields["."]; len(fields) > 1 || len(fields) == 1 && !position { // a server writes a position alone as {}
				require.False(t, isUnchanged(desired, changed.DeepCopy(), "ordapply"), "without %s", key)
				taken++
			}
			fields[key] = below
			without(below.(map[string]any))
		}
	}
	without(full)
	require.Equal(t, 15, taken)
}

// The proof is NeedsBody where the metadata alone is not enough.
func TestTheBodyProvesTheOrderOfItems(t *testing.T) {
	desired := marked(t, web)
	whole := live(t, desired, webFields)
	metadata := whole.DeepCopy()
	delete(metadata.Object, "spec")
	require.Equal(t, applyset.Same, applyset.Prove(desired, whole, "ordapply"))
	require.Equal(t, applyset.NeedsBody, applyset.Prove(desired, metadata, "ordapply"))
	config := marked(t, `{apiVersion: apps/v1, kind: Thing, metadata: {name: a}, data: {a: b, c: d}}`)
	metadata = live(t, config, `{f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}}, f:data: {f:a: {}, f:c: {}}}`)
	delete(metadata.Object, "data")
	require.Equal(t, applyset.Same, applyset.Prove(config, metadata, "ordapply"), "no list: ownership proves it")
}

// An empty list whose items would have their own owners has no owner. One that
// is owned as a whole is ours until another manager owns it.
func TestEmptyLists(t *testing.T) {
	desired := marked(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {env: [], b: c}}`)
	const ours = `{f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}}, f:spec: {f:b: {}}}`
	for theirs, unchanged := range map[string]bool{
		`{}`:                  true,
		`{f:spec: {f:b: {}}}`: true,
		`{f:spec: {f:env: {.: {}, 'k:{"name":"x"}': {f:name: {}}}}}`: true,
		`{f:spec: {f:env: {}}}`: false,
	} {
		changed := live(t, desired, ours)
		changed.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)["fieldsV1"] = parse(t, theirs).Object
		require.Equal(t, unchanged, isUnchanged(desired, changed, "ordapply"), theirs)
	}
}

func TestAmbiguousOwnershipCountsAsChanged(t *testing.T) {
	for name, c := range map[string]struct{ object, fields string }{
		"two entries fit an item": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 53}]}}`,
			`{f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}}, f:spec: {f:ports: {'k:{"port":53,"protocol":"TCP"}': {}, 'k:{"port":53,"protocol":"UDP"}': {}}}}`,
		},
		"an item without keys": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{name: x}]}}`,
			`{f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}}, f:spec: {f:ports: {'k:{"port":53}': {}}}}`,
		},
		"a set that lost a value": {
			`{apiVersion: v1, kind: Pod, metadata: {name: a, finalizers: [x/a, x/b]}}`,
			`{f:metadata: {f:annotations: {"f:ordapply.dev/applied": {}}, f:finalizers: {'v:"x/a"': {}}}}`,
		},
		"no fields": {`{apiVersion: v1, kind: Pod, metadata: {name: a}}`, `{f:spec: {}}`},
	} {
		desired := marked(t, c.object)
		changed := live(t, desired, c.fields)
		changed.Object["metadata"].(map[string]any)["managedFields"].([]any)[1].(map[string]any)["apiVersion"] = "v1"
		require.False(t, isUnchanged(desired, changed, "ordapply"), name)
	}
}

// The API server copies the stringData that another manager applies to data,
// and keeps us as the owner of the values.
func TestStringDataOfAnotherManager(t *testing.T) {
	secret := marked(t, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {a: YQ==}}")
	live := secret.DeepCopy()
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "m", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}},"f:metadata":{"f:annotations":{"f:ordapply.dev/applied":{}}}}`)},
		{Manager: "x", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(`{"f:stringData":{"f:a":{}}}`)},
	})
	require.Equal(t, applyset.Same, applyset.Prove(secret, live, "m"))
	live.Object["data"] = map[string]any{"a": "ZXZpbA=="}
	require.Equal(t, applyset.Differs, applyset.Prove(secret, live, "m"))
	delete(live.Object, "data")
	require.Equal(t, applyset.NeedsBody, applyset.Prove(secret, live, "m"), "metadata alone")
}
