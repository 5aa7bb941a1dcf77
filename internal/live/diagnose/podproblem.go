package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	judgestatus "github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/plain"
)

// PodProblem is one problem of Pods of a workload that are not ready.
type PodProblem struct {
	pods        []*unstructured.Unstructured // with this problem
	Weight      int                          // significance; the highest is reported first
	groupKey    string                       // equal for Pods with the same problem
	Cause       string                       // like groupKey, but independent of the container's current state
	BackingOff  bool                         // the kubelet backs off before it retries
	Text        string
	since       string // for how long, and how often
	Message     string
	FromProgram bool   // message was written by the program itself
	container   string // whose log may help; "" when none ever ran
	previous    bool   // the log of its previous instance does
}

// Words describes the problem with its duration. The termination message of the program is
// left out: it may contain anything.
func (t PodProblem) Words() string {
	return plain.Clip(plain.OneLine(t.Text+t.since+t.said()), TextWidth)
}

// Lasting describes the problem without times, as Words does.
func (t PodProblem) Lasting() string { return t.Text + t.said() }

// said is the message of the cluster, to append.
func (t PodProblem) said() string {
	if t.Message == "" || t.FromProgram {
		return ""
	}
	return ": " + t.Message
}

// The weights of problems: an event that happened counts more than one that
// is still expected.
const (
	weightProgressing = iota + 1 // in progress
	weightUnready
	WeightWaiting
	weightTerminated
)

// explains returns how much the problem explains.
func (t PodProblem) explains() int {
	switch {
	case t.Weight >= WeightWaiting:
		return explainsTheCause
	case t.Weight == weightUnready: // a probe's event says more
		return explainsPart
	}
	return explainsNothing
}

// maxPodProblems bounds the problems that are reported for one workload.
const maxPodProblems = 3

// podProblems groups Pods that are not ready by their problem, the most
// significant first. Pods that are ready or have succeeded are left out.
func podProblems(pods []*unstructured.Unstructured, now time.Time) []PodProblem {
	var kinds []PodProblem
	for _, pod := range pods {
		t, ok := PodProblemFrom(pod, now)
		if !ok {
			continue
		}
		at := slices.IndexFunc(kinds, func(k PodProblem) bool { return k.groupKey == t.groupKey })
		if at < 0 {
			kinds, at = append(kinds, t), len(kinds)
		}
		kinds[at].pods = append(kinds[at].pods, pod)
	}
	slices.SortStableFunc(kinds, func(a, b PodProblem) int {
		return cmp.Or(b.Weight-a.Weight, len(b.pods)-len(a.pods))
	})
	return kinds[:min(len(kinds), maxPodProblems)]
}

// PodProblemFrom returns the problem of one Pod; false when it has none.
func PodProblemFrom(pod *unstructured.Unstructured, now time.Time) (PodProblem, bool) {
	status, _ := pod.Object["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	ready := judgestatus.Condition(status, "Ready")
	switch {
	case phase == "Succeeded", phase == "Running" && ready["status"] == "True":
		return PodProblem{}, false
	case pod.GetDeletionTimestamp() != nil:
		return PodProblem{Weight: weightProgressing, groupKey: "deleting", Text: "being deleted"}, true
	}
	if t, ok := containerProblem(status, now); ok {
		return t, true
	}
	if scheduled := judgestatus.Condition(status, "PodScheduled"); scheduled["status"] == "False" {
		t := PodProblem{Weight: WeightWaiting, groupKey: fmt.Sprint("unscheduled", scheduled["message"]), Cause: fmt.Sprint("unscheduled", scheduled["message"]), Text: "not scheduled", Message: TextOf(scheduled["message"])}
		if since, err := time.Parse(time.RFC3339, fmt.Sprint(scheduled["lastTransitionTime"])); err == nil {
			t.since = " for " + plain.Age(now, since)
		}
		return t, true
	}
	if reason := TextOf(status["reason"]); reason != "" { // Evicted, NodeLost, DeadlineExceeded
		return PodProblem{Weight: weightTerminated, groupKey: reason, Cause: reason, Text: "phase " + phase + " (" + reason + ")", Message: TextOf(status["message"])}, true
	}
	if ready["status"] == "False" && phase == "Running" {
		return PodProblem{Weight: weightUnready, groupKey: fmt.Sprint(ready["reason"]), Text: "running, not ready", Message: TextOf(ready["message"])}, true
	}
	return PodProblem{Weight: weightProgressing, groupKey: phase, Text: "phase " + cmp.Or(phase, "not set yet")}, true
}

// containerProblem returns the problem of the container with the most
// significant one.
func containerProblem(status map[string]any, now time.Time) (worst PodProblem, found bool) {
	for _, list := range []struct{ field, word string }{{"initContainerStatuses", "init container "}, {"containerStatuses", "container "}} {
		containers, _ := status[list.field].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			t := readContainer(container, now)
			if t.Weight <= worst.Weight {
				continue
			}
			name := list.word + TextOf(container["name"])
			t.groupKey, t.Cause = name+t.groupKey, name+cmp.Or(t.Cause, t.groupKey)
			t.Text = name + ": " + t.Text
			worst, found = t, true
		}
	}
	return worst, found
}

// readContainer returns the problem of one container; its weight is 0 when
// there is none.
func readContainer(container map[string]any, now time.Time) PodProblem {
	name := TextOf(container["name"])
	waiting, _, _ := unstructured.NestedMap(container, "state", "waiting")
	ended, _, _ := unstructured.NestedMap(container, "state", "terminated")
	last, _, _ := unstructured.NestedMap(container, "lastState", "terminated")
	restarts, _, _ := unstructured.NestedInt64(container, "restartCount")
	var t PodProblem
	switch {
	case waiting != nil && last != nil:
		t = PodProblem{Weight: weightTerminated, Text: TextOf(waiting["reason"]), container: name}
		t.addTermination(last, restarts, now)
	case waiting != nil && (waiting["reason"] == "ContainerCreating" || waiting["reason"] == "PodInitializing"):
		t = PodProblem{Weight: weightProgressing, groupKey: "creating", Text: "still " + TextOf(waiting["reason"])}
	case waiting != nil:
		t = PodProblem{Weight: WeightWaiting, groupKey: TextOf(waiting["reason"]), Text: TextOf(waiting["reason"]), Message: TextOf(waiting["message"])}
		if t.groupKey == "ErrImagePull" || t.groupKey == "ImagePullBackOff" { // alternating
			t.Cause = "image pull"
		}
	case ended != nil && ended["exitCode"] != int64(0):
		t = PodProblem{Weight: weightTerminated, Text: "terminated", container: name}
		t.addTermination(ended, restarts, now)
	case ended == nil && container["ready"] == false && last != nil:
		t = PodProblem{Weight: weightTerminated, Text: "restarted, not ready", container: name, previous: last["exitCode"] != int64(0)}
		t.addTermination(last, restarts, now)
	case ended == nil && container["ready"] == false:
		t = PodProblem{Weight: weightUnready, groupKey: "unready", Text: "running, not ready", container: name}
	}
	t.BackingOff = strings.HasSuffix(TextOf(waiting["reason"]), "BackOff")
	return t
}

// addTermination adds how a container terminated.
func (t *PodProblem) addTermination(ended map[string]any, restarts int64, now time.Time) {
	code := fmt.Sprintf("exit code %v", ended["exitCode"])
	if reason := TextOf(ended["reason"]); reason != "" && reason != "Error" {
		code += " (" + reason + ")"
	}
	t.groupKey, t.Cause = t.Text+code, code
	t.Text += ", " + code
	if at, err := time.Parse(time.RFC3339, TextOf(ended["finishedAt"])); err == nil {
		t.since += ", " + plain.Age(now, at) + " ago"
	}
	if restarts > 0 {
		t.since += ", " + plain.Count(int(restarts), "restart")
	}
	t.Message, t.FromProgram = TextOf(ended["message"]), true
}

// TextOf returns a field as text; "" when it is missing.
func TextOf(value any) string {
	text, _ := value.(string)
	return strings.TrimSpace(text)
}
