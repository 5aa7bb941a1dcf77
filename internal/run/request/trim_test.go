package request

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A slimmed live object shares equal values with the manifest, and keeps its
// own.
func TestTrimWorkload(t *testing.T) {
	manifest := parse(t, `{metadata: {name: a, annotations: {long: text of some length}}, data: {same: one, other: mine}, list: [first, {name: x}]}`)
	live := parse(t, `{metadata: {name: a, managedFields: [{manager: m}], annotations: {long: text of some length, more: x}}, data: {same: one, other: theirs}, list: [first, {name: x}, third], status: {ready: true}}`)
	want := parse(t, `{metadata: {name: a, annotations: {long: text of some length, more: x}}, data: {same: one, other: theirs}, list: [first, {name: x}, third], status: {ready: true}}`)
	Trim(live, manifest)
	require.Equal(t, want.Object, live.Object)
	workload := parse(t, `{spec: {selector: {a: b}, template: {spec: {image: x}}}}`)
	live2 := parse(t, `{spec: {replicas: 1, selector: {a: b}, template: {spec: {image: x, dnsPolicy: y}}}, status: {n: 1}}`)
	TrimWorkload(live2, workload)
	require.Equal(t, parse(t, `{spec: {replicas: 1, selector: {a: b}, template: {spec: {image: x}}}, status: {n: 1}}`).Object, live2.Object)
	scaled := parse(t, `{spec: {replicas: 1, strategy: {}, template: {spec: {image: x, dnsPolicy: y}}}}`)
	TrimWorkload(scaled, parse(t, `{spec: {replicas: 1, template: {spec: {image: x}}}}`))
	require.Equal(t, parse(t, `{spec: {replicas: 1, template: {spec: {image: x}}}}`).Object, scaled.Object)
	job := parse(t, `{spec: {backoffLimit: 6, selector: {uid: j}, template: {spec: {image: x, dnsPolicy: y}}}}`)
	author := parse(t, `{spec: {template: {spec: {image: x}}}}`)
	TrimWorkload(job, author)
	require.Equal(t, parse(t, `{spec: {selector: {uid: j}, template: {spec: {image: x}}}}`).Object, job.Object)
	require.Equal(t, parse(t, `{spec: {template: {spec: {image: x}}}}`).Object, author.Object)
	require.Same(t, unsafe.StringData(manifest.GetAnnotations()["long"]), unsafe.StringData(live.GetAnnotations()["long"]))
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj))
	return &unstructured.Unstructured{Object: obj}
}
