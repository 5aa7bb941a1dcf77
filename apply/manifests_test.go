package apply_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// testPod returns a Pod in a layer, which may refer to a Secret that is in
// none.
func testPod(name string, wave int, secret string) map[string]any {
	container := map[string]any{"name": "c"}
	if secret != "" {
		container["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": secret}}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "shop", "annotations": map[string]any{
			"ordapply.dev/layer": fmt.Sprintf("app/l%d", wave), "ordapply.dev/wave": fmt.Sprint(wave),
		}},
		"spec": map[string]any{"containers": []any{container}},
	}
}

// plainPod returns a Pod that is in no layer.
func plainPod(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}},
	}
}

// withSecret returns a Pod that is in no layer and refers to a Secret.
func withSecret(name, secret string) map[string]any {
	p := testPod(name, 0, secret)
	delete(p["metadata"].(map[string]any), "annotations")
	return p
}

// dependent returns a Pod that is in no layer and depends on another one.
func dependent(name, on string) map[string]any {
	p := plainPod(name)
	p["metadata"].(map[string]any)["annotations"] = map[string]any{"ordapply.dev/depends-on": "/namespaces/shop/Pod/" + on}
	return p
}

func testSecret(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "shop"}}
}

func unstructuredResource(name string) schema.GroupResource {
	return schema.GroupResource{Resource: name}
}

func setDeleted(live *unstructured.Unstructured, at time.Time) {
	stamp := metav1.NewTime(at)
	live.SetDeletionTimestamp(&stamp)
}

func stepOf(plan *ordering.Plan, id object.ID) ordering.Step {
	return plan.Steps[slices.IndexFunc(plan.Steps, func(s ordering.Step) bool { return s.ID == id })]
}

// failureOf returns the error of a resource among those of a run.
func failureOf(t *testing.T, err error, id object.ID) *event.Error {
	t.Helper()
	for _, e := range ordering.FlattenErrors(err) {
		var failure *event.Error
		if errors.As(e, &failure) && failure.ID == id {
			return failure
		}
	}
	require.Fail(t, "the resource has not failed", "%s: %v", id, err)
	return nil
}

// requireTimeout requires that a resource timed out after a limit of a scope.
func requireTimeout(t *testing.T, err error, id object.ID, after time.Duration, scope string) *event.TimeoutError {
	t.Helper()
	var timeout *event.TimeoutError
	require.ErrorAs(t, failureOf(t, err, id), &timeout)
	require.Equal(t, after, timeout.After)
	require.Equal(t, scope, timeout.Scope)
	return timeout
}

// requireLeft requires that the run's timeout left resources unfinished.
func requireLeft(t *testing.T, err error, after time.Duration, ids ...object.ID) {
	t.Helper()
	var timeout *event.RunTimeoutError
	require.ErrorAs(t, err, &timeout)
	require.Equal(t, after, timeout.After)
	var left []object.ID
	for _, r := range timeout.Unfinished {
		left = append(left, r.ID)
	}
	require.Equal(t, ids, left)
}
