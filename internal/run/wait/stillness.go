package wait

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Clock remembers all that was seen, and when there was something new.
type Clock struct {
	last time.Time
	seen map[string]bool
}

// NewClock returns a clock of something that moved now.
func NewClock(now time.Time) *Clock { return &Clock{now, map[string]bool{}} }

// Moved records a movement.
func (c *Clock) Moved(now time.Time) { c.last = now }

// Saw records a state of something. A state in which it never was is a movement; Saw reports
// whether it is.
func (c *Clock) Saw(now time.Time, of, state string) bool {
	if key := of + "\x00" + state; !c.seen[key] {
		c.seen[key] = true
		c.last = now
		return true
	}
	return false
}

// Knows records a state that counts as seen before.
func (c *Clock) Knows(of, state string) { c.seen[of+"\x00"+state] = true }

// For returns how long nothing has moved.
func (c *Clock) For(now time.Time) time.Duration { return now.Sub(c.last) }

// StateOf returns the status of an object as text, without times and messages: some of these
// are new at each try.
func StateOf(live *unstructured.Unstructured) string {
	text, err := json.Marshal(withoutTimes(live.Object["status"]))
	if err != nil {
		return ""
	}
	return string(text)
}

// StateOfPod returns what tells a Pod that goes on from one that repeats itself: its phase, its
// conditions and what its containers do, without counts and times.
func StateOfPod(pod *unstructured.Unstructured) string {
	status, _ := pod.Object["status"].(map[string]any)
	var b strings.Builder
	add := func(value any) {
		text, _ := value.(string)
		b.WriteString(text + " ")
	}
	add(status["phase"])
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		add(condition["type"])
		add(condition["status"])
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _ := status[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			add(container["name"])
			if container["ready"] == true {
				add("ready")
			}
			states, _ := container["state"].(map[string]any)
			for _, name := range []string{"waiting", "running", "terminated"} {
				if state, in := states[name].(map[string]any); in {
					add(name)
					add(state["reason"])
				}
			}
		}
	}
	return b.String()
}

// withoutTimes returns a copy of a JSON value without messages, in which texts that are times
// are empty.
func withoutTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, field := range value {
			if name != "message" {
				out[name] = withoutTimes(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = withoutTimes(item)
		}
		return out
	case string:
		if _, err := time.Parse(time.RFC3339, value); err == nil {
			return ""
		}
	}
	return value
}
