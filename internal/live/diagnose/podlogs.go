package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// PodLogLines is how many lines of a container's log PodLogs reads at most.
const PodLogLines = 2000

// podLogBytes bounds the read of one container's log.
const podLogBytes = 4 << 20

// PodLogs reads the logs of the main containers of a live Pod, at most PodLogLines lines or 4
// MiB each. The values of these Secrets are hidden, and of the Pod's own; where the latter
// cannot be read, neither are the logs.
func PodLogs(ctx context.Context, cluster kube.Cluster, pod *unstructured.Unstructured, secrets []*unstructured.Unstructured) []event.ContainerLog {
	q := &Diagnoser{Cluster: cluster, RequestsLeft: math.MaxInt, KnownSecrets: map[object.ID]bool{}}
	for _, secret := range secrets {
		q.SecretValues = append(q.SecretValues, redact.Values(secret)...)
	}
	id := kube.Meta(pod).ID
	if !q.readPodSecrets(ctx, pod) {
		return []event.ContainerLog{{Pod: id, Err: errors.New(q.unread[0].Text)}}
	}
	hide := redact.NewReplacer(q.SecretValues)
	var logs []event.ContainerLog
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		name, _ := container["name"].(string)
		log := event.ContainerLog{Pod: id, Container: name}
		lines, err := cluster.Logs(ctx, id, name, kube.LogOptions{Lines: PodLogLines, Bytes: podLogBytes})
		if err != nil {
			log.Err = fmt.Errorf("the log of container %s of %s cannot be read: %w", name, id, fault.WithoutURL(err))
		}
		for _, line := range lines {
			log.Lines = append(log.Lines, hide.Line(logLine(line)))
		}
		logs = append(logs, log)
	}
	return logs
}
