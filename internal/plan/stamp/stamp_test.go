package stamp_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/ordering"
)

// Each decision has one annotation, defaults have none, and Read returns the stamp that was
// written.
func TestWrittenStampsAreReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		written stamp.Stamp
		want    map[string]string // besides the layer
	}{
		"first wave":     {stamp.Stamp{}, map[string]string{stamp.WaveAnnotation: "0"}},
		"later wave":     {stamp.Stamp{Wave: 12}, map[string]string{stamp.WaveAnnotation: "12"}},
		"gate ready":     {stamp.Stamp{Gate: ordering.Ready}, map[string]string{stamp.WaveAnnotation: "0"}},
		"gate applied":   {stamp.Stamp{Gate: ordering.Applied}, map[string]string{stamp.WaveAnnotation: "0", stamp.GateAnnotation: "applied"}},
		"timeout":        {stamp.Stamp{Timeout: 90 * time.Second}, map[string]string{stamp.WaveAnnotation: "0", stamp.LayerTimeoutAnnotation: "1m30s"}},
		"needs":          {stamp.Stamp{Needs: []string{"shop/crds", "base/net"}}, map[string]string{stamp.WaveAnnotation: "0", stamp.LayerNeedsAnnotation: "shop/crds,base/net"}},
		"no needs":       {stamp.Stamp{Needs: []string{}}, map[string]string{stamp.WaveAnnotation: "0", stamp.LayerNeedsAnnotation: ""}},
		"emitted":        {stamp.Stamp{Emitted: []string{stamp.ArgoCD, stamp.Kapp}}, map[string]string{stamp.WaveAnnotation: "0", stamp.EmittedAnnotation: "argocd,kapp"}},
		"none emitted":   {stamp.Stamp{Emitted: nil}, map[string]string{stamp.WaveAnnotation: "0"}},
		"unmatched":      {stamp.Stamp{Unmatched: true, Wave: stamp.LastWave}, map[string]string{stamp.UnmatchedAnnotation: "true"}},
		"placed":         {stamp.Stamp{Unmatched: true, Listed: true, Wave: stamp.LastWave}, map[string]string{stamp.UnmatchedAnnotation: "placed"}},
		"unmatched late": {stamp.Stamp{Unmatched: true, Wave: stamp.LastWave, Needs: []string{"shop/crds"}}, map[string]string{stamp.UnmatchedAnnotation: "true", stamp.LayerNeedsAnnotation: "shop/crds"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.written.Order, c.written.Layer = "shop", "data"
			c.want[stamp.LayerAnnotation] = "shop/data"
			annotations := c.written.Annotations()
			require.Equal(t, c.want, annotations)
			read, ok, err := stamp.Read(annotations)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, c.written, read)
		})
	}
}

// Every key that a stamp can have is a key of Keys, and the reverse.
func TestKeysAreThoseOfAStamp(t *testing.T) {
	full := stamp.Stamp{Order: "shop", Layer: "data", Needs: []string{}, Gate: ordering.Applied, Timeout: time.Minute, Emitted: stamp.Tools()}
	keys := full.Annotations()
	full.Unmatched = true
	maps.Copy(keys, full.Annotations())
	require.Equal(t, slices.Sorted(maps.Keys(keys)), stamp.Keys())
}

// Stamps are also written by hand, and pass through tools that keep only some annotations.
func TestReadOfForeignAnnotations(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        stamp.Stamp // the zero value if there is no stamp
		err         string
	}{
		"no annotations":       {},
		"of other tools":       {annotations: map[string]string{stamp.SyncWave: "3"}},
		"a gate alone":         {annotations: map[string]string{stamp.GateAnnotation: "applied"}},
		"a wave alone":         {annotations: map[string]string{stamp.WaveAnnotation: "1"}, err: "annotation ordapply.dev/wave without ordapply.dev/layer: the stamp is incomplete; run sortorder again"},
		"needs alone":          {annotations: map[string]string{stamp.LayerNeedsAnnotation: ""}, err: "annotation ordapply.dev/layer-needs without ordapply.dev/layer: the stamp is incomplete; run sortorder again"},
		"a layer alone":        {annotations: map[string]string{stamp.LayerAnnotation: "shop/data"}, err: `annotation ordapply.dev/wave: "" is not a non-negative integer`},
		"a layer of no order":  {annotations: map[string]string{stamp.LayerAnnotation: "data", stamp.WaveAnnotation: "1"}, err: `annotation ordapply.dev/layer: "data" is not order/layer`},
		"an order without one": {annotations: map[string]string{stamp.LayerAnnotation: "shop/", stamp.WaveAnnotation: "1"}, err: `annotation ordapply.dev/layer: "shop/" is not order/layer`},
		"an order of no name":  {annotations: map[string]string{stamp.LayerAnnotation: "/data", stamp.WaveAnnotation: "1"}, err: `annotation ordapply.dev/layer: "/data" is not order/layer`},
		"a slash in a layer":   {annotations: stamped(stamp.LayerAnnotation, "shop/a/b"), want: stamp.Stamp{Order: "shop", Layer: "a/b", Wave: 1}},
		"a negative wave":      {annotations: stamped(stamp.WaveAnnotation, "-1"), err: `annotation ordapply.dev/wave: "-1" is not a non-negative integer`},
		"a fraction of a wave": {annotations: stamped(stamp.WaveAnnotation, "1.5"), err: `annotation ordapply.dev/wave: "1.5" is not a non-negative integer`},
		"no wave, unmatched":   {annotations: map[string]string{stamp.LayerAnnotation: "shop/data", stamp.UnmatchedAnnotation: "true"}, want: stamp.Stamp{Order: "shop", Layer: "data", Wave: stamp.LastWave, Unmatched: true}},
		"a wave, unmatched":    {annotations: stamped(stamp.UnmatchedAnnotation, "true"), want: stamp.Stamp{Order: "shop", Layer: "data", Wave: 1, Unmatched: true}},
		"a bad one, unmatched": {annotations: map[string]string{stamp.LayerAnnotation: "shop/data", stamp.UnmatchedAnnotation: "true", stamp.WaveAnnotation: ""}, err: `annotation ordapply.dev/wave: "" is not a non-negative integer`},
		"unmatched: false":     {annotations: stamped(stamp.UnmatchedAnnotation, "false"), want: stamp.Stamp{Order: "shop", Layer: "data", Wave: 1}},
		"spaces in a list":     {annotations: stamped(stamp.LayerNeedsAnnotation, " shop/crds, base/net,"), want: stamp.Stamp{Order: "shop", Layer: "data", Wave: 1, Needs: []string{"shop/crds", "base/net"}}},
		"gate ready, written":  {annotations: stamped(stamp.GateAnnotation, "ready"), want: stamp.Stamp{Order: "shop", Layer: "data", Wave: 1}},
		"an unknown gate":      {annotations: stamped(stamp.GateAnnotation, "Applied"), err: `annotation ordapply.dev/gate: "Applied" is not a gate: write ready or applied`},
		"a timeout of no unit": {annotations: stamped(stamp.LayerTimeoutAnnotation, "5"), err: `annotation ordapply.dev/layer-timeout: "5" is not a duration such as 5m`},
		"a timeout of zero":    {annotations: stamped(stamp.LayerTimeoutAnnotation, "0s"), err: `annotation ordapply.dev/layer-timeout: "0s" is not a duration such as 5m`},
		"a negative timeout":   {annotations: stamped(stamp.LayerTimeoutAnnotation, "-5m"), err: `annotation ordapply.dev/layer-timeout: "-5m" is not a duration such as 5m`},
	} {
		t.Run(name, func(t *testing.T) {
			read, ok, err := stamp.Read(c.annotations)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.False(t, ok)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want.Order != "", ok)
			require.Equal(t, c.want, read)
		})
	}
}

// stamped returns the annotations of wave 1 in layer shop/data, with one value replaced.
func stamped(key, value string) map[string]string {
	annotations := stamp.Stamp{Order: "shop", Layer: "data", Wave: 1}.Annotations()
	annotations[key] = value
	return annotations
}

// sortorder removes only its own keys of other tools: kapp has keys with the author's suffixes.
func TestBelongs(t *testing.T) {
	for key, want := range map[string]string{
		stamp.SyncWave:                        stamp.ArgoCD,
		"argocd.argoproj.io/sync-options":     "",
		stamp.DependsOn:                       stamp.Kpt,
		stamp.Index:                           "",
		stamp.ChangeGroup:                     stamp.Kapp,
		stamp.ChangeGroup + "-2":              stamp.Kapp,
		stamp.ChangeRule + "0":                stamp.Kapp,
		"kapp.k14s.io/change-group":           "",
		"kapp.k14s.io/change-group.of-author": "",
		"kapp.k14s.io/change-rule.of-author":  "",
		stamp.LayerAnnotation:                 "",
	} {
		for _, tool := range append(stamp.Tools(), "helm") {
			require.Equal(t, tool == want, stamp.Belongs(tool, key), "%s of %s", key, tool)
		}
	}
}
