package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podTrouble is one way in which Pods of a workload are not ready.
type podTrouble struct {
	pods      []*unstructured.Unstructured // in this way
	weight    int                          // how much it tells; the most first
	same      string                       // equal for Pods with the same trouble
	cause     string                       // equal for the same trouble, whatever its container is doing about it now
	backoff   bool                         // the kubelet pauses before it tries again
	text      string
	since     string // for how long, and how often
	message   string
	own       bool   // message is what the program itself wrote
	container string // whose log may tell more; "" when none ever ran
	previous  bool   // its last run but one does
}

// The weights of troubles: what has happened tells more than what has not.
const (
	someBusy = iota + 1 // on its way
	someUnready
	someWaiting
	someDead
)

// kindsOfTrouble bounds the ways that are told of one workload.
const kindsOfTrouble = 3

// podTroubles sorts Pods that are not ready by what troubles them, the most
// telling first. Pods that are ready or have done their work are left out.
func podTroubles(pods []*unstructured.Unstructured, now time.Time) []podTrouble {
	var kinds []podTrouble
	for _, pod := range pods {
		t, ok := troubleOf(pod, now)
		if !ok {
			continue
		}
		at := slices.IndexFunc(kinds, func(k podTrouble) bool { return k.same == t.same })
		if at < 0 {
			kinds, at = append(kinds, t), len(kinds)
		}
		kinds[at].pods = append(kinds[at].pods, pod)
	}
	slices.SortStableFunc(kinds, func(a, b podTrouble) int {
		return cmp.Or(b.weight-a.weight, len(b.pods)-len(a.pods))
	})
	return kinds[:min(len(kinds), kindsOfTrouble)]
}

// troubleOf reads one Pod; false when nothing is wrong with it.
func troubleOf(pod *unstructured.Unstructured, now time.Time) (podTrouble, bool) {
	status, _ := pod.Object["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	ready := podCondition(status, "Ready")
	switch {
	case phase == "Succeeded", phase == "Running" && ready["status"] == "True":
		return podTrouble{}, false
	case pod.GetDeletionTimestamp() != nil:
		return podTrouble{weight: someBusy, same: "deleting", text: "it is being deleted"}, true
	}
	if t, ok := containerTrouble(status, now); ok {
		return t, true
	}
	if scheduled := podCondition(status, "PodScheduled"); scheduled["status"] == "False" {
		t := podTrouble{weight: someWaiting, same: fmt.Sprint("unscheduled", scheduled["message"]), cause: fmt.Sprint("unscheduled", scheduled["message"]), text: "it is not scheduled", message: textOf(scheduled["message"])}
		if since, err := time.Parse(time.RFC3339, fmt.Sprint(scheduled["lastTransitionTime"])); err == nil {
			t.since = " for " + age(now, since)
		}
		return t, true
	}
	if reason := textOf(status["reason"]); reason != "" { // Evicted, NodeLost, DeadlineExceeded
		return podTrouble{weight: someDead, same: reason, cause: reason, text: "it is " + phase + " (" + reason + ")", message: textOf(status["message"])}, true
	}
	if ready["status"] == "False" && phase == "Running" {
		return podTrouble{weight: someUnready, same: fmt.Sprint(ready["reason"]), text: "it runs and is not ready", message: textOf(ready["message"])}, true
	}
	return podTrouble{weight: someBusy, same: phase, text: "it is " + cmp.Or(phase, "new")}, true
}

// containerTrouble is that of the container that tells most.
func containerTrouble(status map[string]any, now time.Time) (worst podTrouble, found bool) {
	for _, list := range []struct{ field, word string }{{"initContainerStatuses", "init container "}, {"containerStatuses", "container "}} {
		containers, _ := status[list.field].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			t := readContainer(container, now)
			if t.weight <= worst.weight {
				continue
			}
			name := list.word + textOf(container["name"])
			t.same, t.cause = name+t.same, name+cmp.Or(t.cause, t.same)
			t.text = name + ": " + t.text
			worst, found = t, true
		}
	}
	return worst, found
}

// readContainer reads the status of one container; a weight of 0 means that
// nothing is wrong with it.
func readContainer(container map[string]any, now time.Time) podTrouble {
	name := textOf(container["name"])
	waiting, _, _ := unstructured.NestedMap(container, "state", "waiting")
	ended, _, _ := unstructured.NestedMap(container, "state", "terminated")
	last, _, _ := unstructured.NestedMap(container, "lastState", "terminated")
	restarts, _, _ := unstructured.NestedInt64(container, "restartCount")
	var t podTrouble
	switch {
	case waiting != nil && last != nil:
		t = podTrouble{weight: someDead, text: textOf(waiting["reason"]), container: name}
		t.end(last, restarts, now)
	case waiting != nil && (waiting["reason"] == "ContainerCreating" || waiting["reason"] == "PodInitializing"):
		t = podTrouble{weight: someBusy, same: "creating", text: "still " + textOf(waiting["reason"])}
	case waiting != nil:
		t = podTrouble{weight: someWaiting, same: textOf(waiting["reason"]), text: textOf(waiting["reason"]), message: textOf(waiting["message"])}
		if t.same == "ErrImagePull" || t.same == "ImagePullBackOff" { // by turns
			t.cause = "image pull"
		}
	case ended != nil && ended["exitCode"] != int64(0):
		t = podTrouble{weight: someDead, text: "it ended", container: name}
		t.end(ended, restarts, now)
	case ended == nil && container["ready"] == false && last != nil:
		t = podTrouble{weight: someDead, text: "it runs again and is not ready", container: name, previous: last["exitCode"] != int64(0)}
		t.end(last, restarts, now)
	case ended == nil && container["ready"] == false:
		t = podTrouble{weight: someUnready, same: "unready", text: "it runs and is not ready", container: name}
	}
	t.backoff = strings.HasSuffix(textOf(waiting["reason"]), "BackOff")
	return t
}

// end adds how a container ended.
func (t *podTrouble) end(ended map[string]any, restarts int64, now time.Time) {
	code := fmt.Sprintf("exit code %v", ended["exitCode"])
	if reason := textOf(ended["reason"]); reason != "" && reason != "Error" {
		code += " (" + reason + ")"
	}
	t.same, t.cause = t.text+code, code
	t.text += ", " + code
	if at, err := time.Parse(time.RFC3339, textOf(ended["finishedAt"])); err == nil {
		t.since += ", " + age(now, at) + " ago"
	}
	if restarts > 0 {
		t.since += ", " + count(int(restarts), "restart")
	}
	t.message, t.own = textOf(ended["message"]), true
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

// textOf is a field that may be missing, as text.
func textOf(value any) string {
	text, _ := value.(string)
	return strings.TrimSpace(text)
}
