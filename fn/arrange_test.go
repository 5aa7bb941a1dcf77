package fn_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/sortorder"
)

// TestOneOrderOnCorpora orders real streams by their workloads only. In the
// text, unmatched resources precede their dependents where the plan lets them;
// the annotations for kpt and kapp have no cycle.
func TestOneOrderOnCorpora(t *testing.T) {
	order, err := sortorder.Parse([]byte(`{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, emit: [argocd, kapp, kpt],
	  sortOrder: [{kind: StatefulSet}, {kind: Job}, {kind: Deployment}, {kind: DaemonSet}]}`))
	require.NoError(t, err)
	for _, file := range realStreams(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			out := fn.Processor{Order: order}.Run([]byte(shuffled(t, stream)))
			require.False(t, out.Findings.Failed(), out.Findings.Lines())
			resources := readStream(t, out.Stream())
			plan := planner.Arrange(resources)
			place, byID := map[object.ID]int{}, map[object.ID]ordering.Step{}
			for i, r := range slices.Backward(resources) {
				place[r.ID] = i
			}
			for _, s := range plan.Steps {
				byID[s.ID] = s
			}
			checked := 0
			for _, s := range plan.Steps {
				if resources[place[s.ID]].Annotations[stamp.UnmatchedAnnotation] != "" {
					continue
				}
				for _, need := range s.Needs {
					checked++
					if byID[need.ID].PlacedByDependents() {
						require.Less(t, place[need.ID], place[s.ID], "%s stands before %s, which it needs", s.ID, need.ID)
					}
				}
			}
			t.Logf("%d resources, %d needs of what selectors placed", len(resources), checked)
			requireAcyclic(t, resources, kptEdges(resources))
			requireAcyclic(t, resources, kappEdges(resources))
		})
	}
}

func readStream(t *testing.T, stream []byte) []ordering.Resource {
	t.Helper()
	var out []ordering.Resource
	for document := range strings.SplitSeq(string(stream), "\n---\n") {
		var body map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(document), &body))
		var meta struct {
			APIVersion, Kind string
			Metadata         struct {
				Name, Namespace     string
				Labels, Annotations map[string]string
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &meta))
		r := ordering.Resource{Object: body}
		r.Group, r.Version = object.SplitAPIVersion(meta.APIVersion)
		r.Kind, r.Namespace, r.Name = meta.Kind, meta.Metadata.Namespace, meta.Metadata.Name
		r.Labels, r.Annotations = meta.Metadata.Labels, meta.Metadata.Annotations
		out = append(out, r)
	}
	return out
}

// kptEdges returns the needs of each resource by its depends-on annotation.
func kptEdges(resources []ordering.Resource) map[int][]int {
	at := map[string]int{}
	for i, r := range resources {
		at[r.Group+"/"+r.Kind+"/"+r.Name] = i
		at[r.Group+"/namespaces/"+r.Namespace+"/"+r.Kind+"/"+r.Name] = i
	}
	edges := map[int][]int{}
	for i, r := range resources {
		for entry := range strings.SplitSeq(r.Annotations["config.kubernetes.io/depends-on"], ",") {
			if j, ok := at[entry]; ok {
				edges[i] = append(edges[i], j)
			}
		}
	}
	return edges
}

// kappEdges returns the needs of each resource by its change rules.
func kappEdges(resources []ordering.Resource) map[int][]int {
	groups := map[string][]int{}
	for i, r := range resources {
		for key, value := range r.Annotations {
			if strings.HasPrefix(key, "kapp.k14s.io/change-group") {
				groups[value] = append(groups[value], i)
			}
		}
	}
	edges := map[int][]int{}
	for i, r := range resources {
		for _, rule := range slices.Sorted(maps.Values(r.Annotations)) {
			if group, ok := strings.CutPrefix(rule, "upsert after upserting "); ok {
				edges[i] = append(edges[i], groups[group]...)
			}
		}
	}
	return edges
}

func requireAcyclic(t *testing.T, resources []ordering.Resource, edges map[int][]int) {
	t.Helper()
	state := make([]int, len(resources)) // 1: being visited, 2: done
	var visit func(i int)
	visit = func(i int) {
		state[i] = 1
		for _, j := range edges[i] {
			require.NotEqual(t, 1, state[j], "a cycle: %s and %s", resources[i].ID, resources[j].ID)
			if state[j] == 0 {
				visit(j)
			}
		}
		state[i] = 2
	}
	for i := range resources {
		if state[i] == 0 {
			visit(i)
		}
	}
}
