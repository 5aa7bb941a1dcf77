package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
)

// A Deployment does not forget that its deadline passed when a run repairs its ConfigMap. It
// has its time again in a run that changes something, and fails at once in one that does not.
func TestAFailureFromBeforeTheRun(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	deployment := func() map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"replicas": int64(1), "progressDeadlineSeconds": int64(60)}}
	}
	settings := func(colour string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"colour": colour}}
	}
	progressing := func(status, reason, at string) status {
		ready := int64(0)
		if status == "True" {
			ready = 1
		}
		return map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": ready, "availableReplicas": ready,
			"conditions": []any{map[string]any{"type": "Available", "status": status}, map[string]any{"type": "Progressing", "status": status, "reason": reason, "lastTransitionTime": at}}}
	}
	ready := func() status { return progressing("True", "NewReplicaSetAvailable", "2026-01-01T00:00:00Z") }
	late := func(at string) status { return progressing("False", "ProgressDeadlineExceeded", at) }
	for name, c := range map[string]struct {
		colour string // of the ConfigMap; blue before
		writes map[time.Duration]map[string]any
		took   time.Duration
		state  event.State
	}{
		"it recovers":             {"red", map[time.Duration]map[string]any{6 * time.Second: ready()}, 6 * time.Second, event.Ready},
		"it does not recover":     {"red", nil, time.Minute, event.Failed},
		"it fails anew":           {"red", map[time.Duration]map[string]any{7 * time.Second: late("2026-01-03T00:00:00Z")}, 7 * time.Second, event.Failed},
		"the run changes nothing": {"blue", nil, 0, event.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newControlled()
				cluster.Statuses["Deployment"] = map[time.Duration]map[string]any{time.Second: ready()}
				cluster.mustRun(t, apply.Applier{NoDiagnosis: true}, shopNamespace(), settings("blue"), deployment())
				cluster.Edit(web, func(live *unstructured.Unstructured) { live.Object["status"] = late("2026-01-02T00:00:00Z") })
				time.Sleep(time.Hour)
				for after, status := range c.writes {
					time.AfterFunc(after, func() { cluster.WriteStatus(web, status) })
				}
				summary, err := cluster.run(t, apply.Applier{NoDiagnosis: true}, shopNamespace(), settings(c.colour), deployment())
				result := summary.Results[len(summary.Results)-1]
				require.Equal(t, "Deployment", result.ID.Kind)
				require.Equal(t, c.state, result.State, "%v", err)
				require.Equal(t, c.took, summary.Took)
				require.Zero(t, cluster.Patched["web"])
			})
		})
	}
}

// An object that calls itself degraded while its parts are starting has the status grace again
// whenever one more part is ready.
func TestDegradedWhileNumbersMove(t *testing.T) {
	degraded := func(ready int64) map[string]any {
		return map[string]any{"observedGeneration": int64(1), "readyParts": ready, "conditions": []any{condition("Degraded", "True")}}
	}
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{
			time.Second: degraded(1), 12 * time.Second: degraded(2), 25 * time.Second: degraded(3),
			38 * time.Second: {"observedGeneration": int64(1), "conditions": []any{condition("Ready", "True")}},
		}
		require.Equal(t, 38*time.Second, cluster.mustRun(t, apply.Applier{NoDiagnosis: true}, shopNamespace(), rocket()).Took)
	})
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{time.Second: degraded(1), 12 * time.Second: degraded(2), 20 * time.Second: degraded(1), 26 * time.Second: degraded(2)}
		summary, err := cluster.run(t, apply.Applier{NoDiagnosis: true}, shopNamespace(), rocket())
		require.Error(t, err)
		require.Equal(t, 27*time.Second, summary.Took, "fewer is no progress, nor as many as there were")
	})
}

// A kind with a rule that reads its status is waited for as long as it takes.
func TestARuleWaitsForTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		manifest := rocket()
		manifest["apiVersion"], manifest["kind"] = "postgresql.cnpg.io/v1", "Cluster"
		summary, err := cluster.run(t, apply.Applier{NoDiagnosis: true, WaveTimeout: time.Hour}, shopNamespace(), manifest)
		require.ErrorContains(t, err, "missing field status")
		require.Equal(t, time.Hour, summary.Took)
	})
}
