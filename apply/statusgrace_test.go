package apply_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// unawaited ends the detail of a resource whose status grace was cut short.
const unawaited = "; not waited for, because nothing depends on it"

// namedRocket returns a Rocket, whose kind has a status that no controller writes.
func namedRocket(name string) map[string]any {
	m := rocket()
	m["metadata"].(map[string]any)["name"] = name
	return m
}

// lastRun applies manifests to a cluster in which no controller writes the status of a Rocket,
// and Pods take as long as their scripts say. A hook runs in the wave of the Pod "hooked", or
// laterBy waves after it.
func lastRun(t *testing.T, a apply.Applier, hooks apply.Hooks, laterBy int, pods map[string]time.Duration, manifests ...map[string]any) (event.Summary, error) {
	t.Helper()
	plan, stream := planOf(t, manifests...)
	for at, s := range plan.Steps {
		if hooks.Within != nil && s.ID.Name == "hooked" {
			wave := plan.Steps[at].Wave + laterBy
			if wave == len(plan.Waves) {
				plan.Waves = append(plan.Waves, ordering.Wave{Name: "hooks"})
			}
			plan.Hooks = append(plan.Hooks, ordering.PlannedHook{Event: "Sync", ID: pod("hook"), Within: true, Wave: wave, ReadyBy: wave})
		}
	}
	scripts := map[object.ID]memcluster.Script{}
	for _, m := range manifests {
		name, _ := m["metadata"].(map[string]any)["name"].(string)
		scripts[object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: name}] = memcluster.Script{Bare: true}
	}
	for name, d := range pods {
		scripts[pod(name)] = memcluster.Script{ReadyAfter: d}
	}
	a.Cluster, a.NoDiagnosis = &memcluster.Scripted{Scripts: scripts}, true
	prepared, summary, err := a.Prepare(t.Context(), plan, stream.Objects)
	if err != nil {
		return summary, err
	}
	return prepared.Run(t.Context(), hooks)
}

// The last thing that a command does ends without the status grace of resources on which
// nothing depends, and says so. Whatever waits for them waits for the grace, too.
func TestTheStatusGraceOfWhatNothingDependsOn(t *testing.T) {
	last := apply.Hooks{Last: true}
	needsRocket := func(m map[string]any) map[string]any {
		return annotated(m, "ordapply.dev/depends-on", "rockets.example/namespaces/shop/Rocket/rocket")
	}
	inLayer := func(m map[string]any, layer, wave string) map[string]any {
		return annotated(annotated(m, "ordapply.dev/layer", "app/"+layer), "ordapply.dev/wave", wave)
	}
	slowHook := func(context.Context, []ordering.PlannedHook, func(event.Event)) ([]event.Result, error) {
		time.Sleep(4 * time.Second)
		return nil, nil
	}
	for name, c := range map[string]struct {
		manifests []map[string]any
		applier   apply.Applier
		hooks     apply.Hooks
		laterBy   int // waves between the Pod "hooked" and the hook
		pods      map[string]time.Duration
		took      time.Duration
		detail    string // of the Rocket
	}{
		"alone":                               {hooks: last, detail: "assumed: no status" + unawaited},
		"two of them":                         {hooks: last, manifests: []map[string]any{namedRocket("other")}, detail: "assumed: no status" + unawaited},
		"something may follow the run":        {took: 15 * time.Second, detail: "assumed: no status"},
		"hooks follow the run":                {hooks: apply.Hooks{Last: true, Then: "the post-install hooks"}, took: 15 * time.Second, detail: "assumed: no status"},
		"beside a resource that is slower":    {hooks: last, manifests: []map[string]any{plainPod("slow")}, pods: map[string]time.Duration{"slow": 5 * time.Second}, took: 5 * time.Second, detail: "assumed: no status" + unawaited},
		"beside one that is slower than it":   {hooks: last, manifests: []map[string]any{plainPod("slow")}, pods: map[string]time.Duration{"slow": time.Minute}, took: time.Minute, detail: "assumed: no status"},
		"before a dependent":                  {hooks: last, manifests: []map[string]any{needsRocket(plainPod("web"))}, took: 15 * time.Second, detail: "assumed: no status"},
		"before a dependent that is one, too": {hooks: last, manifests: []map[string]any{needsRocket(namedRocket("other"))}, took: 15 * time.Second, detail: "assumed: no status"},
		"before a later layer":                {hooks: last, manifests: []map[string]any{inLayer(rocket(), "l0", "0"), inLayer(plainPod("web"), "l1", "1")}, took: 15 * time.Second, detail: "assumed: no status"},
		"in the last layer":                   {hooks: last, manifests: []map[string]any{inLayer(rocket(), "l1", "1"), inLayer(plainPod("slow"), "l0", "0")}, pods: map[string]time.Duration{"slow": 3 * time.Second}, took: 3 * time.Second, detail: "assumed: no status" + unawaited},
		"without a grace":                     {hooks: last, applier: apply.Applier{StatusGrace: -1}, detail: "assumed: no status"},
		"a hook of its wave runs":             {hooks: apply.Hooks{Last: true, Within: slowHook}, manifests: []map[string]any{plainPod("hooked")}, took: 4 * time.Second, detail: "assumed: no status" + unawaited},
		"a hook of a later wave runs":         {hooks: apply.Hooks{Last: true, Within: slowHook}, laterBy: 1, manifests: []map[string]any{plainPod("hooked")}, took: 19 * time.Second, detail: "assumed: no status"},
		"a rule says when it is ready":        {hooks: last, manifests: []map[string]any{annotated(rocket(), "ordapply.dev/ready-when", "has(self.status)")}, applier: apply.Applier{WaveTimeout: time.Minute}, took: time.Minute, detail: "not ready after"},
		"strict readiness":                    {hooks: last, applier: apply.Applier{Health: &health.Assessor{Strict: true}}, took: 15 * time.Second, detail: "strict readiness does not assume it"},
		"a dry run":                           {hooks: last, applier: apply.Applier{DryRun: true}},
		"one pass":                            {hooks: last, applier: apply.Applier{OnePass: true}, detail: "it has no status yet; waiting up to 15s for one, unless annotation ordapply.dev/ready-when says when it is ready"},
	} {
		for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
			t.Run(name+", "+schedule.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c.applier.Schedule = schedule
					manifests := c.manifests
					if len(manifests) == 0 || manifests[0]["kind"] != "Rocket" || manifests[0]["metadata"].(map[string]any)["name"] != "rocket" {
						manifests = append([]map[string]any{rocket()}, manifests...)
					}
					summary, err := lastRun(t, c.applier, c.hooks, c.laterBy, c.pods, manifests...)
					for _, r := range summary.Results {
						if r.ID == rocketID() {
							require.Contains(t, r.Detail, c.detail, "%v", err)
							require.Equal(t, strings.HasSuffix(c.detail, unawaited), strings.HasSuffix(r.Detail, unawaited), r.Detail)
						}
					}
					require.Equal(t, c.took, summary.Took)
				})
			})
		}
	}
}

// Only the wait for a first meaningful status is cut short. A status that may be about the
// spec before, or that reports a failure, has its grace, as does one that says "not yet".
func TestAMeaningfulStatusIsWaitedFor(t *testing.T) {
	ready := status{"phase": "Running"}
	for name, c := range map[string]struct {
		before status
		writes map[time.Duration]map[string]any
		took   time.Duration
		state  event.State
	}{
		"about the spec before":        {before: ready, took: 15 * time.Second, state: event.Ready},
		"a failure of the spec before": {before: status{"phase": "Failed"}, took: 15 * time.Second, state: event.Failed},
		"not yet":                      {before: status{"phase": "Pending"}, writes: map[time.Duration]map[string]any{time.Minute: ready}, took: time.Minute, state: event.Ready},
		"says nothing":                 {before: status{"address": "10.0.0.1"}, state: event.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newControlled()
				cluster.mustRun(t, apply.Applier{}, shopNamespace(), imaged(rocket(), "old"))
				cluster.Edit(rocketID(), func(live *unstructured.Unstructured) { live.Object["status"] = c.before })
				time.Sleep(time.Hour)
				cluster.Statuses["Rocket"] = c.writes
				plan, stream := planOf(t, shopNamespace(), imaged(rocket(), "new"))
				prepared, _, err := apply.Applier{Cluster: cluster.Controlled, NoDiagnosis: true}.Prepare(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				summary, err := prepared.Run(t.Context(), apply.Hooks{Last: true})
				require.Equal(t, c.state, summary.Results[len(summary.Results)-1].State, "%v", err)
				require.Equal(t, c.took, summary.Took)
			})
		})
	}
}
