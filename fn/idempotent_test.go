package fn_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// A second run changes nothing, under every option that affects the text.
func TestASecondRunChangesNothing(t *testing.T) {
	for _, options := range []string{
		"typeOrder: fifo", "typeOrder: helm", "typeOrder: {default: fifo, first: [Service]}", "outputOrder: precedence", "emit: [argocd, kapp]",
		"typeOrder: fifo, layers: [{name: kind=Deployment, dependsOn: []}]",
	} {
		order := orderWith(t, "sortOrder: [{kind: StatefulSet}, {kind: Deployment}], "+options)
		for _, file := range realStreams(t) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			requireSettled(t, fn.Processor{Order: order}, stream, filepath.Base(file)+" with "+options)
		}
	}
}

// textOptions are the values of each option that affects the text of a stream or list; "" is
// its default.
var textOptions = map[string][]string{
	"sortOrder": {
		"[{kind: StatefulSet}, {labelSelector: {matchLabels: {app: web}}, layer: web, gate: applied, timeout: 5m}]",
		"[{unmatched: true, layer: rest}, {matchExpressions: [{key: tier, operator: NotIn, values: [db]}], kind: Deployment}, {kind: StatefulSet}]",
	},
	"typeOrder":   {"", "fifo", "helm", "{default: fifo, first: [Service], last: [Secret]}"},
	"outputOrder": {"", "precedence"},
	"layers":      {"", "[{name: kind=StatefulSet, dependsOn: []}]"},
	"emit":        {"", "[argocd]", "[kpt, kapp]", "[argocd, kapp, kpt]"},
	"overwrite":   {"", "true"},
	"reindex":     {"", "true"},
	"strict":      {"", "true"},
}

// A second run changes nothing under any combination of the options, in a stream with marks
// and without them, and in a ResourceList.
func TestASecondRunChangesNothingUnderEveryOption(t *testing.T) {
	requireEveryOption(t)
	combinations := []string{""}
	for _, name := range slices.Sorted(maps.Keys(textOptions)) {
		var longer []string
		for _, so := range combinations {
			for _, value := range textOptions[name] {
				if value == "" {
					longer = append(longer, so)
					continue
				}
				longer = append(longer, so+name+": "+value+", ")
			}
		}
		combinations = longer
	}
	for _, options := range combinations {
		if strings.Contains(options, "overwrite") && !strings.Contains(options, "emit") {
			continue // it is an error
		}
		order := orderWith(t, options)
		for _, marks := range []bool{false, true} {
			requireSettled(t, fn.Processor{Order: order, Marks: marks}, []byte(manyKinds), options)
		}
		requireSettled(t, fn.Processor{Order: order}, []byte(wrapped(strings.TrimSuffix(manyKinds, "\n"))), options)
	}
}

// requireEveryOption requires that every field of a SortOrder is an option of the test, is read
// by the applier only, or refuses a second run: carry.
func requireEveryOption(t *testing.T) {
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(sortorder.Schema(), &schema))
	for _, other := range []string{"apiVersion", "kind", "metadata", "stacks", "timeouts", "health", "ignoreFields", "carry", "of"} {
		delete(schema.Properties, other)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(textOptions)))
}

func orderWith(t *testing.T, options string) *sortorder.Order {
	order, err := sortorder.Parse([]byte("{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, " + options + "}"))
	require.NoError(t, err, options)
	return order
}

// requireSettled requires that the function changes the input, and not its own output.
func requireSettled(t *testing.T, function fn.Processor, in []byte, with string) {
	once := function.Run(in)
	require.False(t, once.Findings.Failed(), "%s: %s", with, once.Findings.Lines())
	require.NotEqual(t, string(in), string(once.Stream()), with)
	again := function.Run(once.Stream())
	require.Equal(t, string(once.Stream()), string(again.Stream()), with)
}

// manyKinds is a stream whose order differs with most options: with needs against the order of
// kinds, annotations of other tools, and stamps of another order and of an older configuration.
const manyKinds = `apiVersion: v1
kind: Secret
metadata:
  name: login
  namespace: shop
  annotations:
    internal.config.kubernetes.io/path: a.yaml
    internal.config.kubernetes.io/index: "0"
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web}
  annotations: {argocd.argoproj.io/sync-wave: "3", internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/index: "1"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c, envFrom: [{secretRef: {name: login}}]}]}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    ordapply.dev/layer: x/old
    ordapply.dev/wave: "7"
    internal.config.kubernetes.io/path: b.yaml
    internal.config.kubernetes.io/index: "0"
---
# the database
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
  namespace: shop
  annotations:
    tier: db
    internal.config.kubernetes.io/path: a.yaml
    internal.config.kubernetes.io/index: "2"
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: shop
  annotations:
    ordapply.dev/layer: base/all
    ordapply.dev/wave: "0"
    internal.config.kubernetes.io/path: b.yaml
    internal.config.kubernetes.io/index: "1"
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  annotations:
    internal.config.kubernetes.io/path: a.yaml
    internal.config.kubernetes.io/index: "3"
`
