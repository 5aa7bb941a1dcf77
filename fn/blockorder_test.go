package fn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/sortorder"
)

// acrossLayers is a Deployment and its dependencies, beside an unused ConfigMap.
const acrossLayers = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {serviceAccountName: web, containers: [{name: main, image: i, envFrom: [{configMapRef: {name: settings}}]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: alone, namespace: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop}
`

// Layers that do not wait for each other stand in the text as the plan has their
// resources, and so do unmatched resources that need a layer behind the rest. The
// emitted annotations say the same, and have no cycle.
func TestTextAcrossLayers(t *testing.T) {
	for name, c := range map[string]struct{ order, text, waitsFor string }{
		"a layer beside another": {
			order:    `sortOrder: [{kind: Deployment, layer: apps}, {kind: ConfigMap, layer: config}, {kind: ServiceAccount, layer: accounts}], layers: [{name: config, dependsOn: []}, {name: accounts, dependsOn: []}]`,
			text:     "alone settings web/ServiceAccount web/Deployment",
			waitsFor: "ConfigMap/settings ServiceAccount/web",
		},
		"a layer beside another, without the rest": {
			order:    `sortOrder: [{kind: Deployment, layer: apps}, {namespace: shop, layer: others}], layers: [{name: others, dependsOn: []}]`,
			text:     "web/ServiceAccount alone settings web/Deployment",
			waitsFor: "ConfigMap/settings ServiceAccount/web",
		},
		"the rest before a layer that it needs": {
			order:    `sortOrder: [{unmatched: true, layer: rest}, {kind: ServiceAccount, layer: accounts}]`,
			text:     "alone settings web/ServiceAccount web/Deployment",
			waitsFor: "ConfigMap/settings ServiceAccount/web",
		},
	} {
		t.Run(name, func(t *testing.T) {
			order, err := sortorder.Parse([]byte("{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, emit: [argocd, kapp, kpt],\n" + c.order + "}"))
			require.NoError(t, err)
			out := fn.Processor{Order: order}.Run([]byte(acrossLayers))
			require.False(t, out.Findings.Failed(), out.Findings.Lines())
			resources := readStream(t, out.Stream())
			var text []string
			for _, r := range resources {
				if r.Name == "web" {
					r.Name += "/" + r.Kind
				}
				text = append(text, r.Name)
			}
			require.Equal(t, c.text, strings.Join(text, " "))
			for dialect, edges := range map[string]map[int][]int{"kpt": kptEdges(resources), "kapp": kappEdges(resources)} {
				requireAcyclic(t, resources, edges)
				web := slices.IndexFunc(resources, func(r ordering.Resource) bool { return r.Kind == "Deployment" })
				var waitsFor []string
				for _, need := range edges[web] {
					if resources[need].Name != "alone" {
						waitsFor = append(waitsFor, resources[need].Kind+"/"+resources[need].Name)
					}
				}
				slices.Sort(waitsFor)
				require.Equal(t, c.waitsFor, strings.Join(slices.Compact(waitsFor), " "), dialect)
			}
		})
	}
}
