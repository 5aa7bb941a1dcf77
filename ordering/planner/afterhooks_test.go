package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// A StatefulSet becomes ready after the hooks if one of them addresses its Pods while they are not
// ready, and its author makes nothing wait for it.
func TestAStatefulSetThatAHookMakesACluster(t *testing.T) {
	const formed = `
{apiVersion: v1, kind: Service, metadata: {name: peers, namespace: shop}, spec: {clusterIP: None, publishNotReadyAddresses: true}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, annotations: {}}, spec: {serviceName: peers}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: init, namespace: shop, annotations: {helm.sh/hook: post-install}}
spec: {template: {spec: {containers: [{name: init, args: ["--host=db-0.peers:26257"]}]}}}
`
	for _, c := range []struct {
		name, old, new string
		after          bool
	}{
		{"as it stands", "", "", true},
		{"with the whole DNS name", "db-0.peers:", "db-12.peers.shop.svc.cluster.local:", true},
		{"in a variable", `args: ["--host=db-0.peers:26257"]`, `env: [{name: HOST, value: db-0.peers}]`, true},
		{"the Service publishes only ready Pods", "publishNotReadyAddresses: true", "publishNotReadyAddresses: false", false},
		{"another Service", "serviceName: peers", "serviceName: others", false},
		{"the hook addresses the Service", "db-0.peers", "peers", false},
		{"a Pod of another StatefulSet", "db-0.peers", "db-proxy-0.peers", false},
		{"a Pod of another namespace", "db-0.peers:", "db-0.peers.other:", false},
		{"no ordinal", "db-0.peers", "db-.peers", false},
		{"a hook before the apply", "post-install", "pre-install", false},
		{"its author waits for it", "annotations: {}", "annotations: {ordapply.dev/wait: ready}", false},
		{"a Deployment", "kind: StatefulSet", "kind: Deployment", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, formed, c.old)
			resources := plancase.Parse(t, []byte(strings.Replace(formed, c.old, c.new, 1)))
			plan, err := planner.Build(resources[:2], ordering.Options{RunHooks: true, Hooks: resources[2:]})
			require.NoError(t, err)
			at := slices.IndexFunc(plan.Steps, func(s ordering.Step) bool { return s.ID.Name == "db" })
			require.Equal(t, c.after, plan.Steps[at].AfterHooks)
			require.Equal(t, c.after, plan.Steps[at].Gate == ordering.Applied)
		})
	}
}

// In a layer, others wait until it is ready, and so do the hooks.
func TestAStatefulSetOfALayerIsReadyBeforeTheHooks(t *testing.T) {
	resources := plancase.Parse(t, []byte(`
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: None, publishNotReadyAddresses: true}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}, spec: {serviceName: db}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: init, namespace: shop, annotations: {helm.sh/hook: post-install}}
spec: {template: {spec: {containers: [{name: init, args: ["--host=db-0.db"]}]}}}
`))
	resources[1].Annotations = stamp.Stamp{Order: "shop", Layer: "databases"}.Annotations()
	plan, err := planner.Build(resources[:2], ordering.Options{RunHooks: true, Hooks: resources[2:]})
	require.NoError(t, err)
	at := slices.IndexFunc(plan.Steps, func(s ordering.Step) bool { return s.ID.Kind == "StatefulSet" })
	require.Equal(t, "shop/databases", plan.Steps[at].Layer)
	require.False(t, plan.Steps[at].AfterHooks)
	require.Equal(t, ordering.Ready, plan.Steps[at].Gate)
}
