package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/plain"
)

// podProblem is one problem of Pods of a workload that are not ready.
type podProblem struct {
	pods        []*unstructured.Unstructured // with this problem
	weight      int                          // significance; the highest is reported first
	groupKey    string                       // equal for Pods with the same problem
	cause       string                       // like groupKey, but independent of the container's current state
	backoff     bool                         // the kubelet backs off before it retries
	text        string
	since       string // for how long, and how often
	message     string
	fromProgram bool   // message was written by the program itself
	container   string // whose log may help; "" when none ever ran
	previous    bool   // the log of its previous instance does
}

// The weights of problems: an event that happened counts more than one that
// is still expected.
const (
	weightProgressing = iota + 1 // in progress
	weightUnready
	weightWaiting
	weightTerminated
)

// maxPodProblems bounds the problems that are reported for one workload.
const maxPodProblems = 3

// podProblems groups Pods that are not ready by their problem, the most
// significant first. Pods that are ready or have succeeded are left out.
func podProblems(pods []*unstructured.Unstructured, now time.Time) []podProblem {
	var kinds []podProblem
	for _, pod := range pods {
		t, ok := podProblemFrom(pod, now)
		if !ok {
			continue
		}
		at := slices.IndexFunc(kinds, func(k podProblem) bool { return k.groupKey == t.groupKey })
		if at < 0 {
			kinds, at = append(kinds, t), len(kinds)
		}
		kinds[at].pods = append(kinds[at].pods, pod)
	}
	slices.SortStableFunc(kinds, func(a, b podProblem) int {
		return cmp.Or(b.weight-a.weight, len(b.pods)-len(a.pods))
	})
	return kinds[:min(len(kinds), maxPodProblems)]
}

// podProblemFrom returns the problem of one Pod; false when it has none.
func podProblemFrom(pod *unstructured.Unstructured, now time.Time) (podProblem, bool) {
	status, _ := pod.Object["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	ready := podCondition(status, "Ready")
	switch {
	case phase == "Succeeded", phase == "Running" && ready["status"] == "True":
		return podProblem{}, false
	case pod.GetDeletionTimestamp() != nil:
		return podProblem{weight: weightProgressing, groupKey: "deleting", text: "being deleted"}, true
	}
	if t, ok := containerProblem(status, now); ok {
		return t, true
	}
	if scheduled := podCondition(status, "PodScheduled"); scheduled["status"] == "False" {
		t := podProblem{weight: weightWaiting, groupKey: fmt.Sprint("unscheduled", scheduled["message"]), cause: fmt.Sprint("unscheduled", scheduled["message"]), text: "not scheduled", message: textOf(scheduled["message"])}
		if since, err := time.Parse(time.RFC3339, fmt.Sprint(scheduled["lastTransitionTime"])); err == nil {
			t.since = " for " + age(now, since)
		}
		return t, true
	}
	if reason := textOf(status["reason"]); reason != "" { // Evicted, NodeLost, DeadlineExceeded
		return podProblem{weight: weightTerminated, groupKey: reason, cause: reason, text: "phase " + phase + " (" + reason + ")", message: textOf(status["message"])}, true
	}
	if ready["status"] == "False" && phase == "Running" {
		return podProblem{weight: weightUnready, groupKey: fmt.Sprint(ready["reason"]), text: "running, not ready", message: textOf(ready["message"])}, true
	}
	return podProblem{weight: weightProgressing, groupKey: phase, text: "phase " + cmp.Or(phase, "not set yet")}, true
}

// containerProblem returns the problem of the container with the most
// significant one.
func containerProblem(status map[string]any, now time.Time) (worst podProblem, found bool) {
	for _, list := range []struct{ field, word string }{{"initContainerStatuses", "init container "}, {"containerStatuses", "container "}} {
		containers, _ := status[list.field].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			t := readContainer(container, now)
			if t.weight <= worst.weight {
				continue
			}
			name := list.word + textOf(container["name"])
			t.groupKey, t.cause = name+t.groupKey, name+cmp.Or(t.cause, t.groupKey)
			t.text = name + ": " + t.text
			worst, found = t, true
		}
	}
	return worst, found
}

// readContainer returns the problem of one container; its weight is 0 when
// there is none.
func readContainer(container map[string]any, now time.Time) podProblem {
	name := textOf(container["name"])
	waiting, _, _ := unstructured.NestedMap(container, "state", "waiting")
	ended, _, _ := unstructured.NestedMap(container, "state", "terminated")
	last, _, _ := unstructured.NestedMap(container, "lastState", "terminated")
	restarts, _, _ := unstructured.NestedInt64(container, "restartCount")
	var t podProblem
	switch {
	case waiting != nil && last != nil:
		t = podProblem{weight: weightTerminated, text: textOf(waiting["reason"]), container: name}
		t.addTermination(last, restarts, now)
	case waiting != nil && (waiting["reason"] == "ContainerCreating" || waiting["reason"] == "PodInitializing"):
		t = podProblem{weight: weightProgressing, groupKey: "creating", text: "still " + textOf(waiting["reason"])}
	case waiting != nil:
		t = podProblem{weight: weightWaiting, groupKey: textOf(waiting["reason"]), text: textOf(waiting["reason"]), message: textOf(waiting["message"])}
		if t.groupKey == "ErrImagePull" || t.groupKey == "ImagePullBackOff" { // alternating
			t.cause = "image pull"
		}
	case ended != nil && ended["exitCode"] != int64(0):
		t = podProblem{weight: weightTerminated, text: "terminated", container: name}
		t.addTermination(ended, restarts, now)
	case ended == nil && container["ready"] == false && last != nil:
		t = podProblem{weight: weightTerminated, text: "restarted, not ready", container: name, previous: last["exitCode"] != int64(0)}
		t.addTermination(last, restarts, now)
	case ended == nil && container["ready"] == false:
		t = podProblem{weight: weightUnready, groupKey: "unready", text: "running, not ready", container: name}
	}
	t.backoff = strings.HasSuffix(textOf(waiting["reason"]), "BackOff")
	return t
}

// addTermination adds how a container terminated.
func (t *podProblem) addTermination(ended map[string]any, restarts int64, now time.Time) {
	code := fmt.Sprintf("exit code %v", ended["exitCode"])
	if reason := textOf(ended["reason"]); reason != "" && reason != "Error" {
		code += " (" + reason + ")"
	}
	t.groupKey, t.cause = t.text+code, code
	t.text += ", " + code
	if at, err := time.Parse(time.RFC3339, textOf(ended["finishedAt"])); err == nil {
		t.since += ", " + age(now, at) + " ago"
	}
	if restarts > 0 {
		t.since += ", " + plain.Count(int(restarts), "restart")
	}
	t.message, t.fromProgram = textOf(ended["message"]), true
}

func podCondition(status map[string]any, name string) map[string]any {
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			return c
		}
	}
	return nil
}

// textOf returns a field as text; "" when it is missing.
func textOf(value any) string {
	text, _ := value.(string)
	return strings.TrimSpace(text)
}
