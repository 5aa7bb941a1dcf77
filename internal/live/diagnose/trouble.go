package diagnose

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
)

// Trouble describes what keeps Pods of a workload from starting, as a run reports it while it
// waits; "" if nothing does, or the Pods may not be read. The termination message of the program
// is left out: it may contain anything. It makes at most two requests.
func Trouble(ctx context.Context, cluster kube.Cluster, workload *unstructured.Unstructured) string {
	q := &Diagnoser{Cluster: cluster, RequestsLeft: 2}
	maker := workload
	switch workload.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		maker = q.ReplicaSet(ctx, workload)
	case "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController":
	default:
		return ""
	}
	if maker == nil {
		return ""
	}
	own, _ := q.madeBy(ctx, maker)
	for _, problem := range podProblems(own, q.Now) {
		if problem.Weight >= WeightWaiting {
			return plain.Clip(plain.OneLine(problem.Lasting()+" (Pod "+problem.pods[0].GetName()+")"), TextWidth)
		}
	}
	return ""
}
