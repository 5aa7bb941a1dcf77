package history

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// stream is a stream with everything that a revision stores.
const stream = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop, annotations: {ordapply.dev/layer: platform/data, ordapply.dev/wave: "0"}}
stringData: {password: "a<b>&\u2028"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {ordapply.dev/layer: platform/web, ordapply.dev/wave: "1", ordapply.dev/layer-timeout: 2m}}
spec:
  replicas: 9007199254740993
  template: {spec: {containers: [{name: web, env: [{name: P, valueFrom: {secretKeyRef: {name: db, key: password}}}], ratio: 0.5, empty: {}, none: null, list: []}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: shop, annotations: {ordapply.dev/depends-on: "apps/namespaces/shop/Deployment/web?gate=applied"}}}
`

func resources(t *testing.T, text string) []ordering.Resource {
	t.Helper()
	var out []ordering.Resource
	for _, document := range strings.Split(text, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, utiljson.Unmarshal(data, &obj.Object))
		out = append(out, ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object})
	}
	return out
}

func revisionOf(t *testing.T, resources []ordering.Resource, options ordering.Options) Revision {
	t.Helper()
	plan, err := planner.Build(resources, options)
	require.NoError(t, err)
	return Revision{Cluster: "one", Plan: plan, Resources: resources, Options: options}
}

func stacked() ordering.Options {
	return ordering.Options{
		PrerequisiteKinds: []string{"StorageClass"},
		Stacks: []ordering.Stack{
			{Name: "base", Timeout: time.Minute, Applications: []ordering.App{{Name: "db"}}},
			{Name: "front", DependsOn: []string{"base"}, Applications: []ordering.App{{Name: "web"}}},
		},
		ApplicationOf: func(m object.Meta) string {
			return map[string]string{"db": "base/db", "web": "front/web"}[m.Name]
		},
		KindTimeouts: []ordering.KindTimeout{{Kind: "Job", Timeout: time.Hour}},
	}
}

func encoded(t *testing.T, r Revision) []byte {
	t.Helper()
	data, err := r.encode()
	require.NoError(t, err)
	return data
}

func digestOf(t *testing.T, r Revision) string {
	t.Helper()
	digest, err := r.digest()
	require.NoError(t, err)
	return digest
}

func TestWhatIsStoredIsRead(t *testing.T) {
	for _, options := range []ordering.Options{{}, stacked()} {
		r := revisionOf(t, resources(t, stream), options)
		r.OrderFile = "stacks: []\n"
		read, err := decode(encoded(t, r))
		require.NoError(t, err)
		require.Equal(t, r.Plan, read.Plan)
		require.Equal(t, r.OrderFile, read.OrderFile)
		require.Equal(t, r.Cluster, read.Cluster)
		require.Equal(t, digestOf(t, r), digestOf(t, *read))
		require.Len(t, read.Resources, len(r.Resources))
		for _, resource := range r.Resources {
			require.Equal(t, resource.Object, read.Objects()[resource.ID].Object)
		}
		again, err := planner.Build(read.Resources, read.Options)
		require.NoError(t, err)
		require.Equal(t, r.Plan, again, "what is read gives the same plan")
		r.Plan = r.Plan.Unordered()
		read, err = decode(encoded(t, r))
		require.NoError(t, err)
		require.Equal(t, r.Plan, read.Plan)
	}
}

// The order of the documents and their files do not change the digest;
// every change of the applied content, or of its order, does.
func TestDigestIsThatOfTheContent(t *testing.T) {
	r := revisionOf(t, resources(t, stream), stacked())
	want := digestOf(t, r)
	data := encoded(t, r)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffled := resources(t, stream)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		other := revisionOf(t, shuffled, stacked())
		require.Equal(t, want, digestOf(t, other))
		require.True(t, bytes.Equal(data, encoded(t, other)), "and the same bytes")
		shuffled[0].Source, shuffled[0].Chart = "elsewhere.yaml", ""
		moved := revisionOf(t, shuffled, stacked())
		moved.Rollback = 7
		require.Equal(t, want, digestOf(t, moved))
	}
	ordered := r
	ordered.OrderFile = "health: []"
	unordered := r
	unordered.Plan = r.Plan.Unordered()
	for name, other := range map[string]Revision{
		"other rules": ordered, "without order": unordered,
		"without stacks": revisionOf(t, resources(t, stream), ordering.Options{}),
		"a changed text": revisionOf(t, resources(t, strings.Replace(stream, "a<b>", "a<c>", 1)), stacked()),
	} {
		require.NotEqual(t, want, digestOf(t, other), name)
	}
}

func TestChunks(t *testing.T) {
	parent := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}
	for size, chunks := range map[int]int{0: 1, 1: 1, chunkSize: 1, chunkSize + 1: 2, 3 * chunkSize: 3} {
		data := bytes.Repeat([]byte{7, 8, 9}, size/3+1)[:size]
		secrets, err := pack(parent.ID, "shop", 4, revisionSummary{Resources: 2}, Record{}, data)
		require.NoError(t, err)
		require.Len(t, secrets, chunks, size)
		head := secrets[len(secrets)-1]
		require.Equal(t, "ordapply.shop.v4", head.GetName(), "the head comes last")
		entry, err := readEntry(head)
		require.NoError(t, err)
		require.Equal(t, chunks, entry.chunks)
		require.Equal(t, Pending, entry.Status)
		whole := map[string][]byte{}
		for _, secret := range secrets {
			part, err := unpack(secret)
			require.NoError(t, err)
			require.LessOrEqual(t, len(part), 1<<20-64<<10)
			require.Empty(t, secret.GetLabels()[applyset.PartOfLabel], "a revision is no member of the set")
			whole[secret.GetName()] = part
		}
		var all []byte
		for i := range chunks {
			all = append(all, whole[secretName(parent.ID, 4, i)]...)
		}
		require.True(t, bytes.Equal(data, all))
	}
}

func TestNamesOfDifferentSetsDiffer(t *testing.T) {
	names := map[string]bool{}
	ids := []object.ID{
		{Kind: "Secret", Name: "a"}, {Kind: "ConfigMap", Name: "a"}, {Kind: "Secret", Name: "configmap.a"}, {Kind: "Secret", Name: "a.v1"},
		{Kind: "Secret", Name: strings.Repeat("a", 252) + "b"}, {Kind: "Secret", Name: strings.Repeat("a", 252) + "c"},
	}
	for _, id := range ids {
		name := secretName(id, 1, 12)
		require.LessOrEqual(t, len(name), 253)
		require.Regexp(t, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, name)
		names[name] = true
	}
	require.Len(t, names, len(ids))
}

// incompressible returns a stream of about size bytes that gzip hardly
// compresses.
func incompressible(t *testing.T, size int) []ordering.Resource {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	var out []ordering.Resource
	for i := 0; size > 0; i++ {
		noise := make([]byte, 300_000)
		_, _ = random.Read(noise)
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("noise-%03d", i), "namespace": "default"},
			"data": map[string]any{"noise": base64.StdEncoding.EncodeToString(noise)},
		}}
		size -= base64.StdEncoding.EncodedLen(len(noise))
		out = append(out, ordering.Resource{Meta: kube.Meta(obj), Object: obj.Object})
	}
	return out
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err := zipped.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zipped.Close())
	return out.Bytes()
}
