package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The endpoints of a Service are read once for all steps that wait for it,
// and then watched; where watching is forbidden they are polled with
// exponential backoff.
func TestRunNoticesNewEndpoints(t *testing.T) {
	const comes = 2 * time.Minute
	for name, c := range map[string]struct {
		unwatchable bool
		late        time.Duration
		requested   int
	}{
		"watched":            {false, time.Millisecond, 1},
		"may not be watched": {true, 15 * time.Second, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, guardedBy("one", "guard"), guardedBy("two", "guard"))
				start := time.Now()
				cluster := &memcluster.Scripted{
					Backed: func() bool { return time.Since(start) >= comes },
					Store:  memcluster.Store{Faults: memcluster.Faults{Refuse: memcluster.ForbidsWatch(func(namespace string) bool { return c.unwatchable && namespace == "shop" })}},
				}
				time.AfterFunc(comes/2, func() { cluster.Send(endpoints(false)) })
				time.AfterFunc(comes, func() { cluster.Send(endpoints(true)) })
				_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.GreaterOrEqual(t, time.Since(start), comes)
				require.Less(t, time.Since(start), comes+c.late)
				require.LessOrEqual(t, cluster.Endpoints, c.requested)
			})
		})
	}
}

// guardedBy returns a webhook configuration that is backed by a Service.
func guardedBy(name, service string) map[string]any {
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{"name": "a.b.c", "clientConfig": map[string]any{
			"caBundle": "abc", "service": map[string]any{"name": service, "namespace": "shop"},
		}}},
	}
}

// endpoints returns a change of an EndpointSlice with one endpoint.
func endpoints(ready bool) kube.WatchEvent {
	return kube.WatchEvent{Objects: []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": map[string]any{"name": "guard-1", "namespace": "shop"},
		"endpoints": []any{map[string]any{"conditions": map[string]any{"ready": ready}}},
	}}}}
}
