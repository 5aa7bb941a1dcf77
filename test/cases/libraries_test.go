package cases

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/sortorder"
)

func readInputs(t *testing.T, stream []byte) []apply.Input {
	t.Helper()
	manifests, err := manifest.Read("stream.yaml", bytes.NewReader(stream))
	require.NoError(t, err)
	return apply.Inputs(manifests)
}

// stampInMemory stamps objects as a controller does, and returns the findings.
func stampInMemory(t *testing.T, order *sortorder.Order, inputs []apply.Input) string {
	t.Helper()
	metas := make([]object.Meta, len(inputs))
	for i, in := range inputs {
		metas[i] = kube.Meta(in.Object)
	}
	decision := fn.Planner{Order: order, Objects: func(i int) map[string]any { return inputs[i].Object.Object }}.Plan(metas)
	for i, change := range decision.Changes {
		annotations := inputs[i].Object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, change.Set)
		inputs[i].Object.SetAnnotations(annotations)
	}
	return decision.Findings.Lines()
}

// build plans a stream, in the default namespace as the commands do. The order of the
// documents must not matter.
func build(t *testing.T, inputs []apply.Input, options ordering.Options) *ordering.Plan {
	t.Helper()
	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "default"})
	require.NoError(t, err)
	plan, err := planner.Build(stream.Resources, options)
	require.NoError(t, err)
	for range 20 {
		rand.Shuffle(len(stream.Resources), func(i, j int) {
			stream.Resources[i], stream.Resources[j] = stream.Resources[j], stream.Resources[i]
		})
		again, err := planner.Build(stream.Resources, options)
		require.NoError(t, err)
		require.Equal(t, plan, again)
	}
	return plan
}

// wavesOf returns the wave of each resource.
func wavesOf(plan *ordering.Plan) map[object.ID]int {
	waves := map[object.ID]int{}
	for _, s := range plan.Steps {
		waves[s.ID] = s.Wave
	}
	return waves
}

// requireTextOrder requires the documents of a stream to be in the order of the plan: wave
// by wave, and each behind its needs. Resources without layer or dependents may stand
// anywhere: they wait for no layer.
func requireTextOrder(t *testing.T, plan *ordering.Plan, stream []byte) {
	t.Helper()
	read, err := apply.NewStream(readInputs(t, stream), apply.Scope{Namespace: "default"})
	require.NoError(t, err)
	require.Len(t, read.Resources, len(plan.Steps))
	at, wave := map[object.ID]int{}, 0
	waves, free := wavesOf(plan), map[object.ID]bool{}
	for _, s := range plan.Steps {
		free[s.ID] = s.PlacedByDependents()
	}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			free[n.ID] = false
		}
	}
	for i, r := range read.Resources {
		require.Contains(t, waves, r.ID)
		if at[r.ID] = i; free[r.ID] {
			continue
		}
		require.GreaterOrEqual(t, waves[r.ID], wave, "%s comes after a later wave", r.ID)
		wave = waves[r.ID]
	}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			require.Less(t, at[n.ID], at[s.ID], "%s stands before %s, which it needs", s.ID, n.ID)
		}
	}
}

// requireLayersKept requires that emit's output keeps the order of the layers when it is
// read as annotations of the author. Merely needed resources may go earlier than their
// stamps. Resources without a namespace keep none, because depends-on names them as the
// stream does.
func requireLayersKept(t *testing.T, stamped, emitted []byte) {
	t.Helper()
	plan := func(inputs []apply.Input) *ordering.Plan {
		stream, err := apply.NewStream(inputs, apply.Scope{})
		require.NoError(t, err)
		plan, err := planner.Build(stream.Resources, ordering.Options{})
		require.NoError(t, err)
		return plan
	}
	unstamped := readInputs(t, emitted)
	for _, in := range unstamped {
		annotations := in.Object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "ordapply.dev/") })
		in.Object.SetAnnotations(annotations)
	}
	waves := wavesOf(plan(unstamped))
	var placed []ordering.Step
	for _, s := range plan(readInputs(t, stamped)).Steps {
		if s.Why.Rule == "layer" || s.Why.Rule == "unmatched" {
			placed = append(placed, s)
		}
	}
	require.NotEmpty(t, placed)
	for _, earlier := range placed {
		for _, later := range placed {
			if earlier.Wave < later.Wave {
				require.Less(t, waves[earlier.ID], waves[later.ID], "%s goes before %s", earlier.ID, later.ID)
			}
		}
	}
}

// readCharts reads the Chart.yaml of a folder.
func readCharts(t *testing.T, folder string) []ordering.Chart {
	t.Helper()
	if folder == "" {
		return nil
	}
	var file struct {
		Name        string `json:"name"`
		Annotations struct {
			Subcharts []string `json:"helm.sh/depends-on/subcharts"`
		} `json:"annotations"`
		Dependencies []struct {
			Name      string   `json:"name"`
			DependsOn []string `json:"depends-on"`
		} `json:"dependencies"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, folder, "Chart.yaml"), &file))
	chart := ordering.Chart{Path: file.Name, DependsOn: file.Annotations.Subcharts}
	for _, d := range file.Dependencies {
		chart.Dependencies = append(chart.Dependencies, ordering.Dependency{Name: d.Name, DependsOn: d.DependsOn})
	}
	return []ordering.Chart{chart}
}

// stack is one entry of stacks in an order.
type stack struct {
	Name         string          `json:"name"`
	DependsOn    []string        `json:"dependsOn"`
	Timeout      metav1.Duration `json:"timeout"`
	Applications []struct {
		Name          string               `json:"name"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
		DependsOn     []string             `json:"dependsOn"`
		Timeout       metav1.Duration      `json:"timeout"`
		External      []struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Namespace  string `json:"namespace"`
			Name       string `json:"name"`
		} `json:"external"`
	} `json:"applications"`
}

// readStacks returns the options for the stacks of an order, if it has any.
func readStacks(t *testing.T, order []byte) (options ordering.Options, found bool) {
	t.Helper()
	var file struct {
		Stacks []stack `json:"stacks"`
	}
	require.NoError(t, yaml.Unmarshal(order, &file))
	selectors := map[string]labels.Selector{} // by "stack/application"
	for _, s := range file.Stacks {
		read := ordering.Stack{Name: s.Name, DependsOn: s.DependsOn, Timeout: s.Timeout.Duration}
		for _, a := range s.Applications {
			app := ordering.App{Name: a.Name, DependsOn: a.DependsOn, Timeout: a.Timeout.Duration}
			for _, e := range a.External {
				group, _ := object.SplitAPIVersion(e.APIVersion)
				app.External = append(app.External, object.ID{Group: group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
			}
			if app.External == nil {
				selector, err := metav1.LabelSelectorAsSelector(&a.LabelSelector)
				require.NoError(t, err)
				selectors[s.Name+"/"+a.Name] = selector
			}
			read.Applications = append(read.Applications, app)
		}
		options.Stacks = append(options.Stacks, read)
	}
	options.ApplicationOf = func(m object.Meta) string {
		for name, selector := range selectors {
			if selector.Matches(labels.Set(m.Labels)) {
				return name
			}
		}
		return ""
	}
	return options, len(file.Stacks) > 0
}
