package planner

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Doubling the references between two contradicting layers at most triples the
// search, whether they are errors (Deployments before their Secrets) or notes
// (with gate applied).
func TestSearchesAreLinear(t *testing.T) {
	for _, gate := range []string{"", "applied"} {
		t.Run("gate "+gate, func(t *testing.T) {
			once, _, _ := contradict(500, gate)
			twice, b, err := contradict(1000, gate)
			t.Logf("edges looked at: %d for 500 references, %d for 1000", once, twice)
			require.Positive(t, once)
			require.Less(t, twice, 3*once)
			if gate == "" {
				require.EqualError(t, err, "layer app/web has 1000 references to layer app/data, which is placed after it: "+
					"Deployment shop/web-0000 needs Secret shop/web-0000 (pod-template: container c env A names Secret web-0000), "+
					"Deployment shop/web-0001 needs Secret shop/web-0001 (pod-template: container c env A names Secret web-0001), "+
					"Deployment shop/web-0002 needs Secret shop/web-0002 (pod-template: container c env A names Secret web-0002), and 997 more; "+
					"layer app/web would wait forever; make a selector of web or of an earlier layer match each needed resource, or make none match it, so that it goes before its dependents")
				return
			}
			require.NoError(t, err)
			require.Len(t, planOf(b).Notes, 1)
			require.Contains(t, planOf(b).Notes[0], "layer app/web has 1000 references to layer app/data")
			require.Len(t, planOf(b).Dropped, 1000)
		})
	}
}

// contradict plans n Deployments, each in a layer before its Secret's.
func contradict(n int, gate string) (searched int, b *edges.Dependencies, err error) {
	var stream []ordering.Resource
	for i := range n {
		name := fmt.Sprintf("web-%04d", i)
		stream = append(stream,
			layered("v1", "Secret", name, "data", "1", gate, nil),
			layered("apps/v1", "Deployment", name, "web", "0", gate, map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "c", "env": []any{map[string]any{
					"name": "A", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": name, "key": "a"}},
				}}}},
			}}}))
	}
	b, err = edges.Find(stream, ordering.Options{})
	return b.Searched, b, err
}

func layered(apiVersion, kind, name, layer, wave, gate string, spec map[string]any) ordering.Resource {
	group, version := object.SplitAPIVersion(apiVersion)
	r := ordering.Resource{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	r.Group, r.Version, r.Kind, r.Namespace, r.Name = group, version, kind, "shop", name
	r.Annotations = map[string]string{stamp.LayerAnnotation: "app/" + layer, stamp.WaveAnnotation: wave}
	if gate != "" {
		r.Annotations[stamp.GateAnnotation] = gate
	}
	return r
}
