package drawing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// Each testdata/*.txtar is a stream and its drawing. `make golden`
// updates it.
func TestDraw(t *testing.T) {
	plancase.Golden(t, func(t *testing.T, resources []ordering.Resource, options ordering.Options) string {
		plan, err := planner.Build(resources, options)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, drawing.Draw(plan).WriteMermaid(&out))
		return out.String()
	})
}

// Every drawing shows each resource once. Arrows never point to an earlier wave
// and form no cycle.
func TestDrawAnyPlan(t *testing.T) {
	for seed := range seeds.UpTo(2000) {
		w := plancase.NewWorld(seed)
		plan, err := planner.Build(w.Resources, w.Options)
		if err != nil {
			continue
		}
		d := drawing.Draw(plan)
		requireForwardArrows(t, d, fmt.Sprintf("seed %d", seed))
		names := 0
		for _, b := range d.Boxes {
			names += len(b.Names)
		}
		require.Equal(t, len(plan.Steps), names)
	}
}

// Above 300 resources boxes are layers or kinds; boxes that form a cycle are
// merged.
func TestDrawMany(t *testing.T) {
	var docs []string
	for i := range 160 {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf("annotations: {ordapply.dev/depends-on: '/namespaces/shop/ConfigMap/c%d?gate=applied'}", i-1)
		}
		docs = append(docs,
			fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop, annotations: {ordapply.dev/depends-on: '/namespaces/shop/Secret/s%d?gate=applied'}}}", i, i),
			fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: shop, %s}}", i, needs))
	}
	docs = append(docs, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	resources := plancase.Parse(t, []byte(strings.Join(docs, "\n---\n")))
	plan, err := planner.Build(resources, ordering.Options{})
	require.NoError(t, err)
	d := drawing.Draw(plan)
	requireForwardArrows(t, d, "many")
	require.Equal(t, "321 resources in 2 waves; 2 boxes of resources that share a layer or a kind", d.Title)
	require.Len(t, d.Boxes[1].Steps, 320)
	d.Boxes[1].Steps = nil
	require.Equal(t, drawing.Box{Kind: "320 resources", Names: []string{"160 × ConfigMap", "160 × Secret"}, Wave: 1}, d.Boxes[1])
}

// The gate before a wave counts the resources that hold it: one that becomes ready only
// after a later wave holds that one's successor, and must be applied before.
func TestGates(t *testing.T) {
	d := drawing.Draw(&ordering.Plan{
		Waves: make([]ordering.Wave, 4),
		Hooks: []ordering.PlannedHook{{Event: "Sync", Within: true, Wave: 1, ReadyBy: 1}, {Event: "PreSync"}},
		Steps: []ordering.Step{
			{ID: object.ID{Kind: "A"}}, {ID: object.ID{Kind: "B"}, ReadyBy: 1}, {ID: object.ID{Kind: "C"}, Gate: ordering.Applied},
			{ID: object.ID{Kind: "D"}, Wave: 1, ReadyBy: 1}, {ID: object.ID{Kind: "E"}, Wave: 2, ReadyBy: 2, Gate: ordering.Applied}, {ID: object.ID{Kind: "F"}, Wave: 3, ReadyBy: 3},
		},
	})
	var gates []string
	for _, w := range d.Waves {
		gates = append(gates, w.Gate)
	}
	require.Equal(t, []string{"", "gate: 1 resource ready, 2 resources applied", "gate: 2 resources ready, 1 hook done", "gate: 1 resource applied"}, gates)
}

// A box lists twelve names, or thirteen if there are no more.
func TestBoxLines(t *testing.T) {
	box := drawing.Box{Kind: "K"}
	for i := range 14 {
		box.Names = append(box.Names, fmt.Sprint("n", i))
	}
	lines := box.Lines()
	require.Len(t, lines, 14)
	require.Equal(t, "n11", lines[12])
	require.Equal(t, "… and 2 more", lines[13])
	box.Names = box.Names[:13]
	require.Equal(t, append([]string{"K"}, box.Names...), box.Lines())
}

// A coarse drawing has arrows from each layer to later ones.
func TestDrawManyInLayers(t *testing.T) {
	resources := plancase.ManyApplications(1000)
	plan, err := planner.Build(resources, ordering.Options{})
	require.NoError(t, err)
	d := drawing.Draw(plan)
	requireForwardArrows(t, d, "layers")
	boxOf := map[string]int{}
	for i, b := range d.Boxes {
		if b.Layer != "" {
			require.Regexp(t, `^`+b.Layer+`: \d+ resources$`, b.Kind)
			boxOf[b.Layer] = i
		}
	}
	require.Greater(t, len(boxOf), 5)
	linked := 0
	for _, a := range d.Arrows {
		if a.Hard && d.Boxes[a.From].Layer != "" && d.Boxes[a.To].Layer != "" && d.Boxes[a.From].Layer != d.Boxes[a.To].Layer {
			linked++
		}
	}
	require.GreaterOrEqual(t, linked, len(boxOf)-1)
}

func requireForwardArrows(t *testing.T, d *drawing.Drawing, name string) {
	t.Helper()
	out := make([][]int, len(d.Boxes))
	into := make([]int, len(d.Boxes))
	for _, a := range d.Arrows {
		require.LessOrEqual(t, d.Boxes[a.From].Wave, d.Boxes[a.To].Wave, name)
		out[a.From] = append(out[a.From], a.To)
		into[a.To]++
	}
	var free []int
	for b, n := range into {
		if n == 0 {
			free = append(free, b)
		}
	}
	for next := 0; next < len(free); next++ {
		for _, to := range out[free[next]] {
			if into[to]--; into[to] == 0 {
				free = append(free, to)
			}
		}
	}
	require.Len(t, free, len(d.Boxes), "%s: arrows lead in a circle", name)
}
