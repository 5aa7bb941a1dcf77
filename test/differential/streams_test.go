package differential

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/corpora"
)

// The objects of examples, one by one.
func TestExamples(t *testing.T) {
	compareStream(t, filesBelow(t, "../../examples"))
}

// The objects of real streams, one by one.
func TestStreams(t *testing.T) {
	if !all() {
		t.Skip("left out: make differential compares the objects of all streams")
	}
	for _, file := range filesBelow(t, corpora.Need(t)) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { compareStream(t, []string{file}) })
	}
}

// filesBelow returns the YAML files of a folder, but for charts' templates.
func filesBelow(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".yaml") && !strings.Contains(file, "templates") {
			files = append(files, file)
		}
		return err
	}))
	return files
}

// stream is a stream that is applied object by object.
type stream struct {
	pair
	seed   int
	report *report
}

// compareStream compares the objects of files. Objects that intercept requests come last,
// and CRDs are edited after their custom resources.
func compareStream(t *testing.T, files []string) {
	t.Helper()
	rows := readRows(t)
	objects := readObjects(t, files)
	s := &stream{pair: startPair(t), seed: number(t, "ORDAPPLY_SEED", 1), report: newReport(rows, len(objects))}
	ctx := t.Context()
	first, rest := partition(objects, "CustomResourceDefinition", "Namespace")
	interceptors, rest := partition(rest, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding", "ResourceQuota", "LimitRange")
	bases := s.batches(first)
	s.each(t, bases, func(b *batch) error { return b.create(ctx) })
	require.NoError(t, s.prepare(ctx, append(slices.Clone(rest), first...), rest))
	rest = s.placed(rest)
	s.each(t, s.batches(rest), func(b *batch) error { return b.run(ctx) })
	s.each(t, bases, func(b *batch) error { return b.change(ctx) })
	s.each(t, s.batches(s.placed(interceptors)), func(b *batch) error { return b.run(ctx) })
	s.report.print(t, s.pair, s.seed)
}

func (s *stream) each(t testing.TB, batches []*batch, do func(*batch) error) {
	activity.Each(len(batches), workers, func(n int) {
		if err := do(batches[n]); err != nil {
			t.Error(err)
		}
	})
}

// batches puts objects into batches. kubectl prints no namespaces: in a batch, names are
// unique.
func (s *stream) batches(objects []map[string]any) []*batch {
	var batches []*batch
	var names []map[string]bool
	for _, o := range objects {
		name, n := printedName(o), 0
		for n < len(batches) && (len(batches[n].chains) == batchSize || names[n][name]) {
			n++
		}
		if n == len(batches) {
			random := rand.New(rand.NewPCG(uint64(s.seed), uint64(n)))
			batches, names = append(batches, &batch{pair: s.pair, Rand: random, report: s.report}), append(names, map[string]bool{})
		}
		names[n][name] = true
		batches[n].chains = append(batches[n].chains, &chain{first: o})
	}
	return batches
}

// readObjects returns the objects of files that have a name, each ID once.
func readObjects(t testing.TB, files []string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	seen := map[object.ID]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		manifests, _ := manifest.ReadLive(file, bytes.NewReader(data)) // of values files and the like, nothing
		for _, m := range manifests {
			o := alone(m.Unstructured)
			if id := idOf(o.Object); o.GetName() != "" && !seen[id] && served(id) {
				seen[id] = true
				objects = append(objects, copied(o.Object))
			}
		}
	}
	return objects
}

// served reports whether objects of a kind can be in a cluster.
func served(id object.ID) bool {
	switch id.Group {
	case "kustomize.config.k8s.io", "ordapply.dev", "fleet.ordapply.dev", "config.kubernetes.io":
		return false
	}
	return id.Group != "" || id.Kind != "" && id.Kind != "Chart"
}

// alone returns an object without the annotations that make it a hook, say that it depends on
// other objects, which may be in another batch, or ask for a recreation, which kubectl does not
// know and whose deletion ends only with a garbage collector.
func alone(o *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := o.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, "helm.sh/hook") || strings.HasPrefix(key, "argocd.argoproj.io/hook") || strings.Contains(key, "depends-on") || strings.HasPrefix(key, "kapp.k14s.io/") || key == "ordapply.dev/on-immutable" {
			delete(annotations, key)
		}
	}
	if len(annotations) > 0 {
		o.SetAnnotations(annotations)
	} else if metadata, ok := o.Object["metadata"].(map[string]any); ok {
		delete(metadata, "annotations")
	}
	return o
}

func partition(objects []map[string]any, kinds ...string) (chosen, rest []map[string]any) {
	for _, o := range objects {
		if slices.Contains(kinds, idOf(o).Kind) {
			chosen = append(chosen, o)
		} else {
			rest = append(rest, o)
		}
	}
	return chosen, rest
}

// prepare creates a stream's prerequisites: its namespaces, and kinds that neither it nor
// Kubernetes defines.
func (s *stream) prepare(ctx context.Context, objects, unserved []map[string]any) error {
	return s.both(func(s *side) error {
		var needed, kinds []map[string]any
		for _, o := range objects {
			if id := idOf(o); id.Kind == "CustomResourceDefinition" {
				kinds = append(kinds, definedKind(o))
			} else if id.Namespace != "" {
				needed = append(needed, namespace(id.Namespace))
			}
		}
		s.awaitKinds(ctx, kinds...)
		for _, o := range unserved {
			if _, err := s.resource(o); meta.IsNoMatchError(err) && idOf(o).Group != "" { // both tools refuse kinds that only Kubernetes could serve
				needed = append(needed, freeKind(o))
				kinds = append(kinds, o)
			}
		}
		err := s.create(ctx, needed...)
		s.awaitKinds(ctx, kinds...)
		return err
	})
}

// placed returns objects with the namespace that they are applied to.
func (s *stream) placed(objects []map[string]any) []map[string]any {
	var placed []map[string]any
	for _, o := range objects {
		u := unstructured.Unstructured{Object: copied(o)}
		switch namespaced, known := s.theirs.namespaced(o); {
		case known && !namespaced:
			u.SetNamespace("")
		case u.GetNamespace() == "":
			u.SetNamespace("default")
		}
		placed = append(placed, u.Object)
	}
	return placed
}

func namespace(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

// definedKind returns an object of the kind that a CRD defines, in its first served
// version.
func definedKind(crd map[string]any) map[string]any {
	group, _, _ := unstructured.NestedString(crd, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["served"] == true {
			name, _ := version["name"].(string)
			return map[string]any{"apiVersion": group + "/" + name, "kind": kind, "metadata": map[string]any{"name": "none"}}
		}
	}
	return map[string]any{}
}

// freeKind returns a CRD that accepts an object.
func freeKind(o map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: o}
	gvk := u.GroupVersionKind()
	plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind(gvk))
	free := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural.Resource + "." + gvk.Group, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"}},
		"spec": map[string]any{
			"group": gvk.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": gvk.Kind, "plural": plural.Resource, "singular": singular.Resource},
			"versions": []any{map[string]any{
				"name": gvk.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": free, "status": free, "data": free}}},
			}},
		},
	}
}
