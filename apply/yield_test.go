package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

func custom(kind, name string) map[string]any {
	return map[string]any{"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": map[string]any{"secretName": "tls"}}
}

func certificate() object.ID {
	return object.ID{Group: "cert-manager.io", Kind: "Certificate", Namespace: "shop", Name: "cert"}
}

// mounting returns a Pod that mounts the Secret of the Certificate.
func mounting(annotations map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web", "annotations": annotations}, "spec": map[string]any{
		"containers": []any{map[string]any{"name": "c"}}, "volumes": []any{map[string]any{"name": "tls", "secret": map[string]any{"secretName": "tls"}}},
	}}
}

// runSeen runs a plan, and returns when the Pod web was sent, or that it never was.
func runSeen(t *testing.T, cluster *memcluster.Scripted, schedule apply.Schedule, manifests ...map[string]any) (sent time.Duration, summary event.Summary, notes []string, err error) {
	t.Helper()
	plan, stream := planOf(t, manifests...)
	start := time.Now()
	sent = -1
	applier := apply.Applier{Cluster: cluster, Schedule: schedule, Events: func(e event.Event) {
		if e.ID == pod("web") && e.State == event.Applying && sent < 0 {
			sent = time.Since(start)
		}
		if e.State == event.Waiting && strings.Contains(e.Detail, "nothing has moved") {
			notes = append(notes, e.ID.String()+": "+e.Detail)
		}
	}}
	summary, err = applier.Run(t.Context(), plan, stream.Objects)
	return sent, summary, notes, err
}

// A gate whose dependent the cluster would retry yields once nothing has moved for 30
// seconds, with one note that names the edge; a declared one never does.
func TestInferredGatesYield(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			never := map[object.ID]memcluster.Script{certificate(): {Never: true}}
			sent, summary, notes, err := runSeen(t, &memcluster.Scripted{Scripts: never}, schedule, custom("Certificate", "cert"), mounting(nil))
			require.Equal(t, 30*time.Second, sent.Round(time.Second), schedule)
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], "Certificate.cert-manager.io shop/cert: ")
			require.Contains(t, notes[0], "; nothing has moved for 30s, so what the cluster itself would retry waits for it no longer: Pod shop/web (certificate: volume tls names Secret tls, which is filled by Certificate.cert-manager.io cert)")
			require.Error(t, err, "the Certificate still has to become ready")
			require.Equal(t, event.Ready, states(summary)["web"])

			declared := map[string]any{ordering.DependsOnAnnotation: "cert-manager.io/namespaces/shop/Certificate/cert"}
			sent, _, notes, err = runSeen(t, &memcluster.Scripted{Scripts: never}, schedule, custom("Certificate", "cert"), mounting(declared))
			require.Equal(t, time.Duration(-1), sent, schedule)
			require.Empty(t, notes)
			require.Error(t, err)
		})
	}
}

// Movement now and then keeps every gate: here a status that changes each 20 seconds for two
// minutes. A status that only repeats itself does not.
func TestNoGateYieldsWhileSomethingMoves(t *testing.T) {
	for name, c := range map[string]struct {
		step func(n int) int
		sent time.Duration
	}{
		"counts":  {func(n int) int { return n }, 2 * time.Minute},
		"repeats": {func(n int) int { return n % 2 }, 51 * time.Second}, // both were seen after 21 seconds
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{certificate(): {ReadyAfter: 2 * time.Minute}}}
			for n := range 6 {
				time.AfterFunc(time.Duration(n)*20*time.Second+time.Second, func() { // the PATCH is answered by then
					live := memcluster.LiveObject(&unstructured.Unstructured{Object: custom("Certificate", "cert")}, false)
					live.SetNamespace("shop")
					live.Object["status"].(map[string]any)["done"] = int64(c.step(n))
					slow.Send(kube.WatchEvent{Objects: []*unstructured.Unstructured{live}})
				})
			}
			sent, _, _, err := runSeen(t, slow, apply.Waves, custom("Certificate", "cert"), mounting(nil))
			require.NoError(t, err)
			require.InDelta(t, c.sent.Seconds(), sent.Seconds(), 11, name)
		})
	}
}

// A webhook configuration that fails open holds up no run, and fails none whose timeout is
// shorter than the delay of yielding gates.
func TestAWebhookThatFailsOpenHoldsUpNoRun(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		for limit, ends := range map[time.Duration]time.Duration{time.Minute: 30 * time.Second, 10 * time.Second: 10 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				open := guardedBy("one", "guard")
				open["webhooks"].([]any)[0].(map[string]any)["failurePolicy"] = "Ignore"
				plan, stream := planOf(t, open)
				start := time.Now()
				applier := apply.Applier{Cluster: &memcluster.Scripted{Backed: func() bool { return false }}, Schedule: schedule, WaveTimeout: limit}
				summary, err := applier.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, event.Applied, summary.Results[0].State)
				require.Contains(t, summary.Results[0].Detail, "Service shop/guard has no ready endpoint; its webhooks fail open, so the run does not wait for it any longer")
				require.Equal(t, ends, time.Since(start).Round(time.Second))
			})
		}
	}
}

// A declared dependency holds a resource back, whatever yields: also where the gate of a
// yielding edge was passed before, and behind a webhook that fails open.
func TestADeclaredGateHoldsWhateverYields(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, plainPod("slow"), plainPod("never"), plainPod("other"), plainPod("web"))
			for i := range plan.Steps {
				switch s := &plan.Steps[i]; s.ID.Name {
				case "web":
					s.Needs = []ordering.Need{{ID: pod("never"), Gate: ordering.Applied, Yields: true}, {ID: pod("slow"), Gate: ordering.Ready, Hard: true}}
				case "other":
					s.Needs = []ordering.Need{{ID: pod("never"), Gate: ordering.Ready, Yields: true}}
				}
			}
			cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("never"): {Never: true}, pod("slow"): {ReadyAfter: 100 * time.Second}}}
			sent := map[string]time.Duration{}
			start := time.Now()
			_, err := apply.Applier{Cluster: cluster, Schedule: schedule, Events: func(e event.Event) {
				if e.State == event.Applying && sent[e.ID.Name] == 0 {
					sent[e.ID.Name] = time.Since(start).Round(time.Second)
				}
			}}.Run(t.Context(), plan, stream.Objects)
			require.Error(t, err)
			require.Equal(t, 30*time.Second, sent["other"], "it yields")
			require.Equal(t, 100*time.Second, sent["web"])
		})
		synctest.Test(t, func(t *testing.T) {
			open := guardedBy("one", "guard")
			open["webhooks"].([]any)[0].(map[string]any)["failurePolicy"] = "Ignore"
			web := annotated(plainPod("web"), "ordapply.dev/depends-on", "admissionregistration.k8s.io/ValidatingWebhookConfiguration/one")
			sent, summary, notes, err := runSeen(t, &memcluster.Scripted{Backed: func() bool { return false }}, schedule, open, web)
			require.Error(t, err)
			require.Empty(t, notes)
			require.Equal(t, time.Duration(-1), sent)
			require.Equal(t, event.Skipped, states(summary)["web"])
		})
	}
}

// The gate before the next hooks yields once everything is applied and nothing moves, but not
// for a resource whose author waits for it.
func TestTheGateBeforeHooksYields(t *testing.T) {
	web := func(annotations map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web", "annotations": annotations}, "spec": map[string]any{}}
	}
	run := func(t *testing.T, schedule apply.Schedule, next string, manifests ...map[string]any) (event.Summary, time.Duration, error) {
		plan, stream := planOf(t, manifests...)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("web"): {Never: true}}}
		start := time.Now()
		applier := apply.Applier{Cluster: cluster, Schedule: schedule}
		prepared, _, err := applier.Prepare(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		summary, err := prepared.Run(t.Context(), apply.Hooks{Then: next})
		return summary, time.Since(start).Round(time.Second), err
	}
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			summary, took, err := run(t, schedule, "the post-install hooks", web(nil))
			require.NoError(t, err)
			require.Equal(t, 30*time.Second, took)
			left := summary.Results[0]
			require.Equal(t, event.Applied, left.State)
			require.True(t, left.Unready)
			require.Contains(t, left.Detail, "; nothing has moved for 30s, so the post-install hooks run before it is ready")

			for name, c := range map[string]struct {
				next        string
				annotations map[string]any
			}{
				"nothing follows": {"", nil},
				"declared":        {"the post-install hooks", map[string]any{ordering.WaitAnnotation: "ready"}},
			} {
				summary, took, err = run(t, schedule, c.next, web(c.annotations))
				require.Error(t, err, name)
				require.Equal(t, 5*time.Minute, took, name)
				require.False(t, summary.Results[0].Unready, name)
			}
		})
	}
}

// A resource that declares that it is waited for keeps later waves shut.
func TestAWaveThatAnAuthorDeclaresNeverYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := map[object.ID]memcluster.Script{certificate(): {Never: true}}
		cert := custom("Certificate", "cert")
		cert["metadata"].(map[string]any)["annotations"] = map[string]any{ordering.WaitAnnotation: "ready"}
		sent, _, notes, err := runSeen(t, &memcluster.Scripted{Scripts: never}, apply.Waves, cert, mounting(nil))
		require.Error(t, err)
		require.Empty(t, notes)
		require.Equal(t, time.Duration(-1), sent)
	})
}

// Pods of others in the namespace are no movement.
func TestPodsOfOthersAreNoMovement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stateful := func(name string) map[string]any {
			s := plainPod(name)
			s["apiVersion"], s["kind"] = "apps/v1", "StatefulSet"
			return s
		}
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{certificate(): {Never: true}}}
		cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
			if verb == "watch" && kind.Resource.Resource == "pods" {
				go func() {
					for n := range 20 {
						pause(t.Context(), 10*time.Second)
						cluster.Tell(podOf(fmt.Sprintf("foreign%d", n), "ContainerCreating"))
					}
				}()
			}
			return nil
		}
		sent, _, notes, _ := runSeen(t, cluster, apply.Waves, custom("Certificate", "cert"), mounting(nil), stateful("a"), stateful("b"), stateful("c"))
		require.Equal(t, 30*time.Second, sent.Round(time.Second))
		require.NotEmpty(t, notes)
	})
}
