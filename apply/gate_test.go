package apply_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

type status = map[string]any

func rocketID() object.ID {
	return object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "rocket"}
}

// The status of a custom resource counts when it describes the spec that was
// sent.
func TestWhenAStatusIsTrusted(t *testing.T) {
	conditions := func(generation int64, all ...any) status {
		out := status{"conditions": all}
		if generation > 0 {
			out["observedGeneration"] = generation
		}
		return out
	}
	running, ready := status{"phase": "Running"}, condition("Ready", "True")
	ten := 10 * time.Second
	for name, c := range map[string]struct {
		before status                           // its status before its spec changes; nil: it is new
		writes map[time.Duration]map[string]any // its statuses after that
		strict bool
		same   bool // its spec does not change
		took   time.Duration
		state  event.State
		detail string
	}{
		"undated, about the spec before": {
			before: running, took: 15 * time.Second, state: event.Ready,
			detail: "assumed: phase is Running, which may refer to the spec before the change: its status has not changed since",
		},
		"undated, about the spec before, strict": {
			before: running, strict: true, took: 15 * time.Second, state: event.Failed, detail: "strict readiness does not assume it",
		},
		"undated, and the status changes": {
			before: running, writes: map[time.Duration]map[string]any{ten: {"phase": "Running", "since": "now"}}, took: ten, state: event.Ready,
		},
		"undated, and it goes on": {
			before: running, writes: map[time.Duration]map[string]any{time.Second: {"phase": "Updating"}, time.Minute: running}, took: time.Minute, state: event.Ready,
		},
		"undated failure about the spec before": {
			before: status{"phase": "Failed"}, writes: map[time.Duration]map[string]any{ten: running}, took: ten, state: event.Ready,
		},
		"undated failure that stays": {
			before: status{"phase": "Failed"}, took: 15 * time.Second, state: event.Failed, detail: "phase is Failed",
		},
		"undated, unchanged": {before: running, same: true, state: event.Ready},
		"dated": {
			before: conditions(1, ready), writes: map[time.Duration]map[string]any{time.Second: conditions(2, ready)}, took: time.Second, state: event.Ready,
		},
		"new, with a status": {writes: map[time.Duration]map[string]any{time.Second: running}, took: time.Second, state: event.Ready},
		"neutral at first": {
			writes: map[time.Duration]map[string]any{time.Second: {"observedGeneration": int64(1)}, 3 * time.Second: conditions(1, condition("Ready", "False")), ten: conditions(1, ready)},
			took:   ten, state: event.Ready,
		},
		"neutral at first, strict": {
			writes: map[time.Duration]map[string]any{time.Second: conditions(1, condition("Paused", "False")), 3 * time.Second: conditions(1, condition("Ready", "False")), ten: conditions(1, ready)},
			strict: true, took: ten, state: event.Ready,
		},
		"neutral for ever": {
			writes: map[time.Duration]map[string]any{time.Second: {"address": "10.0.0.1"}},
			took:   15 * time.Second, state: event.Ready, detail: "assumed: its status does not say whether it is ready",
		},
		"neutral for ever, strict": {
			writes: map[time.Duration]map[string]any{time.Second: {"address": "10.0.0.1"}},
			strict: true, took: 15 * time.Second, state: event.Failed, detail: "strict readiness does not assume it",
		},
		"neutral for long, unchanged":         {before: status{"address": "10.0.0.1"}, same: true, state: event.Ready},
		"neutral for long, unchanged, strict": {before: status{"address": "10.0.0.1"}, same: true, strict: true, state: event.Failed},
		"neutral, and changed":                {before: status{"address": "10.0.0.1"}, took: 15 * time.Second, state: event.Ready},
		"degraded at first": {
			writes: map[time.Duration]map[string]any{time.Second: conditions(1, condition("Degraded", "True")), ten: conditions(1, condition("Degraded", "False"), ready)},
			took:   ten, state: event.Ready,
		},
		"degraded for ever": {
			writes: map[time.Duration]map[string]any{time.Second: conditions(1, condition("Degraded", "True"))},
			took:   15 * time.Second, state: event.Failed, detail: "condition Degraded is True",
		},
		"degraded for long, unchanged": {before: conditions(1, condition("Degraded", "True")), same: true, state: event.Failed},
		"degraded later": {
			writes: map[time.Duration]map[string]any{time.Second: conditions(1, condition("Ready", "False")), time.Minute: conditions(1, condition("Degraded", "True"))},
			took:   time.Minute, state: event.Failed, detail: "condition Degraded is True",
		},
		"stalled": {
			writes: map[time.Duration]map[string]any{time.Second: conditions(1, condition("Stalled", "True"))},
			took:   time.Second, state: event.Failed, detail: "condition Stalled is True",
		},
		"failed, and says of which generation": {
			writes: map[time.Duration]map[string]any{time.Second: {"phase": "InstallFailed", "observedGeneration": int64(1)}},
			took:   time.Second, state: event.Failed, detail: "phase is InstallFailed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newControlled()
				a := apply.Applier{Health: &health.Assessor{Strict: c.strict}, NoDiagnosis: true}
				if c.before != nil {
					cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{0: {"phase": "Running"}}
					cluster.mustRun(t, apply.Applier{}, shopNamespace(), imaged(rocket(), "old"))
					cluster.Edit(rocketID(), func(live *unstructured.Unstructured) { live.Object["status"] = c.before })
					time.Sleep(time.Hour)
				}
				cluster.Statuses["Rocket"] = c.writes
				image := "new"
				if c.same {
					image = "old"
				}
				summary, err := cluster.run(t, a, shopNamespace(), imaged(rocket(), image))
				result := summary.Results[len(summary.Results)-1]
				require.Equal(t, c.state, result.State, "%v", err)
				require.Contains(t, result.Detail, c.detail)
				if c.detail == "" && c.state == event.Ready && c.before == nil {
					require.Empty(t, result.Detail)
				}
				require.Equal(t, c.took, summary.Took)
			})
		})
	}
}

// A verdict that does not depend on the status counts at once: here the
// author's rule reads only the spec.
func TestAVerdictThatIsNotOfTheStatusIsTrustedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{0: {"phase": "Running"}}
		stream := func(image string) map[string]any {
			return annotated(imaged(rocket(), image), "ordapply.dev/ready-when", "self.spec.image != ''")
		}
		cluster.mustRun(t, apply.Applier{}, shopNamespace(), stream("old"))
		time.Sleep(time.Hour)
		require.Zero(t, cluster.mustRun(t, apply.Applier{}, shopNamespace(), stream("new")).Took)
		require.Equal(t, 1, cluster.Patched["rocket"])
	})
}

// A PATCH that changes only metadata does not make a status stale.
func TestAChangeOfMetadataMakesNoStatusStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{0: {"phase": "Running"}}
		cluster.mustRun(t, apply.Applier{}, shopNamespace(), rocket())
		time.Sleep(time.Hour)
		require.Zero(t, cluster.mustRun(t, apply.Applier{}, shopNamespace(), annotated(rocket(), "colour", "red")).Took)
		require.Equal(t, 1, cluster.Patched["rocket"])
	})
}

func rocketCRD(described string) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "rockets.rockets.example"},
		"spec": map[string]any{
			"group": "rockets.example", "names": map[string]any{"kind": "Rocket", "plural": "rockets"}, "scope": "Namespaced",
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "description": described, "x-kubernetes-validations": []any{
					map[string]any{"rule": "self.spec.image == oldSelf.spec.image", "message": "image is immutable"},
				}},
			}}},
		},
	}
}

// API servers use the new schema of a CustomResourceDefinition shortly after
// it was changed. Until then rejected custom resources are sent again, for a
// limited time.
func TestCustomResourcesOfAChangedCRD(t *testing.T) {
	refusals := map[string]error{
		"unknown field": errors.New("failed to create typed patch object (shop/rocket; rockets.example/v1, Kind=Rocket): .spec.image: field not declared in schema"),
		"invalid":       apierrors.NewInvalid(schema.GroupKind{Group: "rockets.example", Kind: "Rocket"}, "rocket", nil),
		"immutable by the old schema": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.image", Message: "image is immutable"}},
		}}},
	}
	for name, refusal := range refusals {
		for changed, until := range map[string]time.Duration{"again": 5 * time.Second, "in time": 5 * time.Second, "never": time.Hour} {
			t.Run(name+", "+changed, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster := newControlled()
					cluster.Statuses["Rocket"] = map[time.Duration]map[string]any{0: {"phase": "Running"}}
					author := annotated(imaged(rocket(), "old"), "ordapply.dev/on-immutable", "recreate")
					cluster.mustRun(t, apply.Applier{}, shopNamespace(), rocketCRD("old"), author)
					start := time.Now()
					cluster.RefusePatch = func(obj *unstructured.Unstructured) error {
						if obj.GetKind() == "Rocket" && time.Since(start) < until {
							return refusal
						}
						return nil
					}
					crd := rocketCRD("new")
					if changed == "again" { // the CustomResourceDefinition is unchanged
						crd = rocketCRD("old")
					}
					author = annotated(imaged(rocket(), "new"), "ordapply.dev/on-immutable", "recreate")
					summary, err := cluster.run(t, apply.Applier{StatusGrace: -1, NoDiagnosis: true}, shopNamespace(), crd, author)
					switch immutable := name == "immutable by the old schema"; {
					case changed == "in time":
						require.NoError(t, err)
						require.Empty(t, cluster.Deleted())
						require.InDelta(t, 5, summary.Took.Seconds(), 5)
					case immutable:
						require.Contains(t, cluster.Deleted(), "rocket")
					case changed == "again":
						require.Error(t, err)
						require.Zero(t, summary.Took)
					default:
						require.Error(t, err)
						require.InDelta(t, 7.5, summary.Took.Seconds(), 3) // ten seconds at most, and the last pause may be five
						require.ErrorContains(t, err, "gave up after ")
					}
				})
			})
		}
	}
}
