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
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// failingPull returns a cluster in which the Pod of StatefulSet db fails to pull its image
// after some time, and retries until ctx is done.
func failingPull(ctx context.Context, after time.Duration) *memcluster.Scripted {
	id := object.ID{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "db"}
	pod := podOf("db", "ContainerCreating")
	cluster := &memcluster.Scripted{
		Scripts: map[object.ID]memcluster.Script{id: {Never: true}},
		Outside: map[object.ID]*unstructured.Unstructured{kube.Meta(pod).ID: pod},
	}
	cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
		if verb == "watch" && kind.Resource.Resource == "pods" {
			go func() {
				pause(ctx, after)
				for ctx.Err() == nil {
					for _, reason := range []string{"ImagePullBackOff", "ErrImagePull"} {
						cluster.Tell(podOf("db", reason))
						pause(ctx, 3*time.Second)
					}
				}
			}()
		}
		return nil
	}
	return cluster
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
func TestPodProblemIsReportedWhileWaiting(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cluster := failingPull(ctx, after)
			secret := testSecret("s")
			secret["stringData"] = map[string]any{"password": "hunter2hunter2"}
			plan, stream := planOf(t, secret, map[string]any{
				"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db", "namespace": "shop"},
				"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}},
			})
			start, reported := time.Now(), []event.Event{}
			_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Events: func(e event.Event) {
				if e.State == event.Waiting && strings.Contains(e.Detail, "Image") {
					reported = append(reported, e)
				}
			}}.Run(t.Context(), plan, stream.Objects)
			require.Len(t, reported, 1)
			require.LessOrEqual(t, reported[0].Time.Sub(start), after+5*time.Second)
			require.Regexp(t, `; container c: ImagePullBackOff: no such image of \(value of a Secret\) \(Pod db-0\)$`, reported[0].Detail)
			require.NotContains(t, err.Error(), "Image", "the diagnosis below it says so")
		})
	}
}
