package recreate

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// parsed returns an object from YAML.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	return obj
}

// The words of a custom resource's validation rules are its author's. A field is immutable if
// the rule compares it with the live object's.
func TestTransitionRules(t *testing.T) {
	crd := parsed(t, `
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            x-kubernetes-validations:
            - {rule: "self.mode != 'Immutable' || has(self.retention)", message: "an immutable backup requires retention"}
            - {rule: "self.size >= oldSelf.size", message: " it may only grow "}
            - {rule: "self.class == oldSelf.class"}
            - {rule: "self.a == oldSelf.a", message: said twice}
            properties:
              items:
                items:
                  x-kubernetes-validations:
                  - {rule: "self.b != ''", message: said twice}
  - name: v2
    schema:
      openAPIV3Schema:
        x-kubernetes-validations:
        - {rule: "self.x == oldSelf.x", messageExpression: "'x was ' + oldSelf.x"}
`)
	for message, want := range map[string]bool{
		`Invalid value: "object": it may only grow`:                         true,
		`Invalid value: "object": failed rule: self.class == oldSelf.class`: true,
		`it may only grow`: true,
		`Invalid value: "object": an immutable backup requires retention`:                              false,
		`Invalid value: "object": said twice`:                                                          false,
		`Invalid value: "it may only grow": must be short`:                                             false,
		`Invalid value: "object": field is immutable`:                                                  false,
		`Invalid value: "object": an immutable backup requires retention: oldSelf, field is immutable`: false,
	} {
		require.Equal(t, want, isTransition(rulesOf(crd, "v1"), metav1.StatusCause{Message: message}), message)
	}
	require.True(t, isTransition(rulesOf(crd, "v2"), metav1.StatusCause{Message: `Invalid value: "object": x was 1`}), "a computed message")
	require.Empty(t, rulesOf(crd, "v3"))
}

// A dry run of the creation of a Service asks for no address or port that the live one
// holds.
func TestReleaseAllocations(t *testing.T) {
	live := parsed(t, `{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 30001, ports: [{port: 80, nodePort: 30080}]}}`)
	body := parsed(t, `{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 30001, ports: [{port: 80, nodePort: 30080}, {port: 81, nodePort: 30081}]}}`)
	releaseAllocations(body, live)
	require.Equal(t, parsed(t, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}, {port: 81, nodePort: 30081}]}}`), body)
	for _, kept := range []string{
		`{apiVersion: v1, kind: Service, spec: {clusterIP: None, clusterIPs: [None]}}`,
		`{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.8, clusterIPs: [10.0.0.8]}}`,
		`{apiVersion: v1, kind: ConfigMap, spec: {clusterIP: 10.0.0.7}}`,
	} {
		body := parsed(t, kept)
		releaseAllocations(body, live)
		require.Equal(t, parsed(t, kept), body)
	}
}

// Nothing is recreated with which the garbage collector would take an object of the stream, a
// volume, or an object that no controller makes anew.
func TestWhatGarbageCollectionTakes(t *testing.T) {
	const owner = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, uid: u, managedFields: [{manager: ordapply, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:ordapply.dev/applied": {}}}}}]}}`
	for name, c := range map[string]struct{ kind, owners, lost string }{
		"a volume of its template":      {"PersistentVolumeClaim", `[{uid: u, kind: StatefulSet, controller: true}]`, "PersistentVolumeClaim shop/x"},
		"a volume of a Pod":             {"PersistentVolumeClaim", `[{uid: u, kind: Pod, controller: true}]`, ""},
		"what its controller made":      {"Secret", `[{uid: u, kind: StatefulSet, controller: true}]`, ""},
		"what someone made depend":      {"ConfigMap", `[{uid: u, kind: StatefulSet}]`, "ConfigMap shop/x"},
		"another owner stays":           {"ConfigMap", `[{uid: u, kind: StatefulSet}, {uid: v, kind: Pod}]`, ""},
		"a dependent of another object": {"ConfigMap", `[{uid: v, kind: StatefulSet}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := memcluster.New()
			dependent := parsed(t, `{apiVersion: v1, kind: `+c.kind+`, metadata: {name: x, namespace: shop, uid: d, ownerReferences: `+c.owners+`}}`)
			kind, _ := cluster.Kind(dependent.GroupVersionKind())
			cluster.Add(kind, dependent)
			live := parsed(t, owner)
			check := Check{Cluster: cluster, Owner: write.Owner{Manager: "ordapply"}, Manifests: []*unstructured.Unstructured{live}}
			refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "StatefulSet"}, "db", field.ErrorList{field.Invalid(field.NewPath("spec", "serviceName"), "b", "field is immutable")})
			err := check.Prove(t.Context(), Candidate{Kind: kube.Kind{Namespaced: true}, Manifest: live, Live: live, Refusal: refusal})
			if c.lost == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "spec.serviceName cannot be changed on a live StatefulSet, and the live object is not recreated, because its deletion would also delete "+c.lost+": delete them first, or give the resource a new name")
			require.True(t, errors.As(err, &Refused{}))
		})
	}
}

// forbidding is a cluster that forbids to list a kind.
type forbidding struct {
	*memcluster.Store
	plural string
}

func (c forbidding) List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	if kind.Resource.Resource == c.plural {
		return nil, apierrors.NewForbidden(kind.Resource.GroupResource(), "", errors.New("no"))
	}
	return c.Store.List(ctx, kind, namespace, query)
}

// Claims that may not be listed may exist: then nothing is recreated.
func TestClaimsThatMayNotBeListed(t *testing.T) {
	live := parsed(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, uid: u}}`)
	for plural, fails := range map[string]bool{"persistentvolumeclaims": true, "statefulsets": true, "secrets": false, "configmaps": false} {
		_, err := Check{Cluster: forbidding{memcluster.New(), plural}, Manifests: []*unstructured.Unstructured{live}}.losses(t.Context(), Candidate{Manifest: live, Live: live})
		require.Equal(t, fails, err != nil, plural)
	}
}

// A claim of an operator's StatefulSet goes with its custom resource, also when the deletion of
// its definition deletes that.
func TestClaimsBelowACustomResource(t *testing.T) {
	const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: c, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s, controller: true}]}}`
	for owner, lost := range map[string]int{"u": 1, "other": 0} {
		cluster := memcluster.New()
		for _, text := range []string{claim, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, uid: s, ownerReferences: [{apiVersion: db.example/v1, kind: Db, name: main, uid: ` + owner + `, controller: true}]}}`} {
			obj := parsed(t, text)
			kind, _ := cluster.Kind(obj.GroupVersionKind())
			cluster.Add(kind, obj)
		}
		live := parsed(t, `{apiVersion: db.example/v1, kind: Db, metadata: {name: main, namespace: shop, uid: u}}`)
		found, err := Check{Cluster: cluster, Manifests: []*unstructured.Unstructured{live}}.losses(t.Context(), Candidate{Manifest: live, Live: live})
		require.NoError(t, err)
		require.Len(t, found, lost, owner)
	}
}

// Data that only another manager owns would be lost; a scaler's is made anew.
func TestFieldsOfOthers(t *testing.T) {
	check := Check{Owner: write.Owner{Manager: "ordapply"}}
	live := func(entries string) *unstructured.Unstructured {
		return parsed(t, `{apiVersion: v1, kind: Secret, metadata: {name: gen, managedFields: [{manager: ordapply, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}, `+entries+`]}}`)
	}
	for entries, want := range map[string]string{
		`{manager: keygen, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:key": {}}}}`:                                        "data.key",
		`{manager: keygen, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}}`: "",
		`{manager: hpa, operation: Update, subresource: scale, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}`:                  "",
		`{manager: someone, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:phase": {}}}}`:                                   "",
	} {
		require.Equal(t, want, check.foreignField(live(entries)), entries)
	}
}
