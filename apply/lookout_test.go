package apply_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/test/memcluster"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// pulling is a cluster in which the Pod of StatefulSet db fails to pull its
// image after some time, and retries in vain.
type pulling struct {
	memcluster.Scripted
	after time.Duration
}

func (c *pulling) Watch(ctx context.Context, kind kube.Kind, namespace string, query kube.Query, changed func(kube.WatchEvent)) {
	if kind.Resource.Resource != "pods" {
		c.Scripted.Watch(ctx, kind, namespace, query, changed)
		return
	}
	changed(kube.WatchEvent{Listed: true, Objects: []*unstructured.Unstructured{podOf("db", "ContainerCreating")}})
	pause(ctx, c.after)
	for ctx.Err() == nil {
		for _, reason := range []string{"ImagePullBackOff", "ErrImagePull"} {
			changed(kube.WatchEvent{Objects: []*unstructured.Unstructured{podOf("db", reason)}})
			pause(ctx, 3*time.Second)
		}
	}
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// podOf returns a Pod of a workload, whose container waits.
func podOf(workload, reason string) *unstructured.Unstructured {
	yes := true
	pod := &unstructured.Unstructured{Object: plainPod(workload + "-0")}
	pod.SetUID("uid-pod")
	pod.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: workload, UID: types.UID("uid-" + workload), Controller: &yes}})
	pod.Object["status"] = map[string]any{"phase": "Pending", "containerStatuses": []any{map[string]any{
		"name": "c", "ready": false, "state": map[string]any{"waiting": map[string]any{"reason": reason, "message": "no such image\nof hunter2hunter2"}},
	}}}
	return pod
}

// A Pod that cannot start is reported within five seconds of the cluster's
// report, once, and without values of Secrets.
func TestPodTroubleIsToldWhileWaiting(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			id := object.ID{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "db"}
			cluster := &pulling{Scripted: memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{id: {Never: true}}}, after: after}
			secret := testSecret("s")
			secret["stringData"] = map[string]any{"password": "hunter2hunter2"}
			plan, stream := planOf(t, secret, map[string]any{
				"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db", "namespace": "shop"},
				"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}},
			})
			begun, told := time.Now(), []apply.Event{}
			_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Events: func(e apply.Event) {
				if e.State == apply.Waiting && strings.Contains(e.Detail, "Image") {
					told = append(told, e)
				}
			}}.Run(t.Context(), plan, stream.Objects)
			require.Len(t, told, 1)
			require.LessOrEqual(t, told[0].Time.Sub(begun), after+5*time.Second)
			require.Regexp(t, `; container c: ImagePullBackOff: no such image of \(value of a Secret\) \(Pod db-0\)$`, told[0].Detail)
			require.NotContains(t, err.Error(), "Image", "the diagnosis below it says so")
		})
	}
}
