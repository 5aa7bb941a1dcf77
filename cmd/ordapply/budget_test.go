package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// A first apply of N objects over K pairs of resource and namespace makes at
// most N + 4K + 20 requests, N of them PATCHes, not counting permission checks.
func TestRequestBudgetOfAFirstApply(t *testing.T) {
	file := kubePrometheus(t)
	cluster := testcluster.Start(t) // its own: it has an APIService whose backend does not run here
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output := ordapplyWith(proxy.Kubeconfig, "apply", "-f", file)
	require.Equal(t, report.ExitDone, code, output)
	patches, others, pairs := 0, map[string]int{}, map[string]bool{}
	for _, r := range proxy.Requests() {
		if r.Verb == "patch" {
			patches++
			pairs[r.Group+"/"+r.Resource+"/"+r.Namespace] = true
			continue
		}
		others[r.Verb]++
	}
	require.Equal(t, 1, others["review"], "who may do everything is asked for no more")
	delete(others, "review")
	n := len(readManifests(t, file))
	require.Equal(t, n, patches, "one PATCH an object")
	total := patches
	for _, count := range others {
		total += count
	}
	t.Logf("%d objects over %d pairs: %d requests; beside the PATCHes %v; the budget is %d", n, len(pairs), total, others, n+4*len(pairs)+20)
	require.LessOrEqual(t, total, n+4*len(pairs)+20)
	t.Run("and a second one", func(t *testing.T) { reapplyWithinBudget(t, proxy, file) })
}

// reapplyWithinBudget: a second apply without changes makes at most 3K + 20
// requests over K pairs of resource and namespace, not counting permission
// checks, and no PATCH.
func reapplyWithinBudget(t *testing.T, proxy *recorder.Proxy, file string) {
	pairs := map[string]bool{}
	for _, m := range readManifests(t, file) {
		pairs[m.GroupVersionKind().String()+"/"+m.GetNamespace()] = true
	}

	proxy.Reset()
	code, output := ordapplyWith(proxy.Kubeconfig, "apply", "-f", file)
	require.Equal(t, report.ExitDone, code, output)
	verbs := map[string]int{}
	for _, r := range proxy.Requests() {
		verbs[r.Verb]++
		if r.Verb == "patch" {
			t.Logf("sent again: %s %s/%s", r.Resource, r.Namespace, r.Name)
		}
	}
	total := len(proxy.Requests()) - verbs["review"]
	t.Logf("%d pairs: %d requests %v; the budget is %d", len(pairs), total, verbs, 3*len(pairs)+20)
	require.Zero(t, verbs["patch"])
	require.LessOrEqual(t, total, 3*len(pairs)+20)
}

// For random graphs no request arrives before everything that it needs was
// answered, by edge and by wave, or was ready if the gate requires it.
func TestRequestsArriveInOrder(t *testing.T) {
	cluster := shared.Get(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			stream := randomStream(rand.New(rand.NewPCG(seed, 2)), 300, fmt.Sprintf("random-%d", seed))
			proxy := recorder.Start(t, cluster.Kubeconfig)
			watch, err := observer.Start(t.Context(), cluster.Kubeconfig)
			require.NoError(t, err)
			var out, output bytes.Buffer
			code := run(context.Background(), []string{"apply", "-f", "-", "--kubeconfig", proxy.Kubeconfig}, bytes.NewReader(stream), &out, &output)
			require.Equal(t, report.ExitDone, code, output.String())
			plan := planFor(t, stream)
			checkArrival(t, plan, proxy.Requests())
			checkGates(t, plan, proxy.Requests(), cluster, watch)
		})
	}
}

// randomStream returns a Namespace with n objects: Deployments and ConfigMaps
// in random layers, and Secrets and ConfigMaps that float to their first
// dependent.
func randomStream(rng *rand.Rand, n int, namespace string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range n {
		layer := rng.IntN(6)
		stamp := fmt.Sprintf("annotations: {ordapply.dev/layer: app/l%d, ordapply.dev/wave: %q}", layer, fmt.Sprint(layer))
		meta := fmt.Sprintf("metadata: {name: o%d, namespace: %s, %s}", i, namespace, stamp)
		switch kind := rng.IntN(10); {
		case kind < 1:
			fmt.Fprintf(&out, "---\napiVersion: apps/v1\nkind: Deployment\n%s\nspec: {selector: {matchLabels: {a: o%d}}, template: {metadata: {labels: {a: o%d}}, spec: {containers: [{name: c, image: c, envFrom: [{secretRef: {name: s%d, optional: true}}]}]}}}\n", meta, i, i, rng.IntN(n))
		case kind < 5:
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ConfigMap\n%s\n", meta)
		default:
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s%d, namespace: %s}\n", i, namespace)
		}
	}
	return out.Bytes()
}

func planFor(t *testing.T, stream []byte) *ordering.Plan {
	t.Helper()
	manifests, err := manifest.Read("random", bytes.NewReader(stream))
	require.NoError(t, err)
	var inputs []apply.Input
	for _, m := range manifests {
		inputs = append(inputs, apply.Input{Object: m.Unstructured, Source: m.Source})
	}
	parsed, err := apply.NewStream(inputs, apply.Scope{Namespace: "default"})
	require.NoError(t, err)
	plan, err := planner.Build(parsed.Resources, ordering.Options{})
	require.NoError(t, err)
	return plan
}

// checkArrival compares the arrival of PATCHes with the plan.
func checkArrival(t *testing.T, plan *ordering.Plan, requests []recorder.Request) {
	t.Helper()
	resources := map[string]string{"deployments": "Deployment", "configmaps": "ConfigMap", "secrets": "Secret", "namespaces": "Namespace"}
	sent := map[string]recorder.Request{}
	for _, r := range requests {
		if r.Verb == "patch" {
			key := resources[r.Resource] + "/" + r.Name
			require.NotContains(t, sent, key, "sent twice")
			sent[key] = r
		}
	}
	edges := 0
	for _, s := range plan.Steps {
		mine := sent[s.ID.Kind+"/"+s.ID.Name]
		require.False(t, mine.Arrived.IsZero(), "%s was never sent", s.ID)
		for _, need := range s.Needs {
			edges++
			require.True(t, mine.Arrived.After(sent[need.ID.Kind+"/"+need.ID.Name].Answered), "%s was sent before %s was applied", s.ID, need.ID)
		}
		for _, earlier := range plan.Steps {
			if earlier.Wave < s.Wave {
				edges++
				require.True(t, mine.Arrived.After(sent[earlier.ID.Kind+"/"+earlier.ID.Name].Answered), "%s was sent before %s was applied", s.ID, earlier.ID)
			}
		}
	}
	require.Greater(t, edges, len(plan.Steps))
	t.Logf("%d resources in %d waves, %d edges: all kept", len(plan.Steps), len(plan.Waves), edges)
}

// ordapplyWith runs the program with a kubeconfig and returns its exit code and
// standard error.
func ordapplyWith(kubeconfig string, args ...string) (int, string) {
	var out, err bytes.Buffer
	code := run(context.Background(), append(args, "--kubeconfig", kubeconfig), nil, &out, &err)
	return code, err.String()
}

// The diagnosis of a failure is added to the run's budget and bounded too: at
// most nine requests for each of at most eight resources.
func TestRequestBudgetOfAFailure(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "crashing")
	proxy := recorder.Start(t, cluster.Kubeconfig)
	var stream bytes.Buffer
	const n = 10
	for i := range n {
		fmt.Fprintf(&stream, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%[1]d, namespace: crashing}\nspec: {selector: {matchLabels: {a: d%[1]d}}, template: {metadata: {labels: {a: d%[1]d}, annotations: {localcluster/behaviour: crash-loop}}, spec: {containers: [{name: c, image: c}]}}}\n", i)
	}
	code, output := applyThrough(proxy.Kubeconfig, stream.Bytes(), "--wave-timeout", "15s")
	require.Equal(t, report.ExitTimedOut, code, output)
	own, requested := 0, 0
	for _, r := range proxy.Requests() {
		switch r.Resource {
		case "pods", "pods/log", "replicasets", "events", "persistentvolumeclaims":
			requested++
		default:
			own++
		}
	}
	t.Logf("%d objects that do not get ready: %d requests of the run, %d about the failure", n, own, requested)
	require.LessOrEqual(t, own, n+4*1+20)
	require.LessOrEqual(t, requested, 9*8)
	require.Greater(t, requested, 8)
}

// The budget also holds during a wait: a change after 18 seconds is seen by
// a watch immediately.
func TestRequestBudgetOfAWait(t *testing.T) {
	cluster := shared.Get(t)
	for name, c := range map[string]struct{ stream, comes, requested string }{
		"a webhook's backend": {
			stream: "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: late.budget.example}\n" +
				"webhooks:\n- name: late.budget.example\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Ignore\n" +
				"  clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K, service: {name: late, namespace: default}}\n" +
				"  rules:\n  - {apiGroups: [budget.example], apiVersions: [v1], operations: [CREATE], resources: [guarded]}\n",
			comes: "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: late, namespace: default, labels: {kubernetes.io/service-name: late}}\n" +
				"addressType: IPv4\nports: [{port: 443}]\nendpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]\n",
			requested: "endpointslices",
		},
		"a kind that another client installs": {
			stream: "apiVersion: late.budget.example/v1\nkind: Widget\nmetadata: {name: one, namespace: default}\n",
			comes: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.late.budget.example}\n" +
				"spec: {group: late.budget.example, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
			requested: "/apis/late.budget.example/v1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := recorder.Start(t, cluster.Kubeconfig)
			came := make(chan time.Time, 1)
			time.AfterFunc(18*time.Second, func() {
				kubectlApply(t, cluster, c.comes)
				came <- time.Now()
			})
			code, output := applyThrough(proxy.Kubeconfig, []byte(c.stream))
			done := time.Now()
			require.Equal(t, report.ExitDone, code, output)
			require.Less(t, done.Sub(<-came), 10*time.Second, "a poll would see it later: its pauses have doubled to 15 seconds")
			total, requested := 0, 0
			for _, r := range proxy.Requests() {
				if r.Verb != "review" {
					total++
				}
				if r.Resource == c.requested || r.URL.Path == c.requested {
					requested++
				}
			}
			t.Logf("%d requests, %d of them about what was waited for", total, requested)
			require.LessOrEqual(t, total, 1+4*1+20)
			require.LessOrEqual(t, requested, 8, "not once a second")
		})
	}
}
