package wait

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SeenEvent is what is read of one event.
type SeenEvent struct {
	About  string // the name of its object
	Reason string
	State  string // equal for an event that repeats itself
	what   string // what the message quotes first: an image
	at     time.Time
}

// EventsAbout returns the events about objects with a name, and about those that are named
// after them, as the Pods of a workload are.
func EventsAbout(listed []*unstructured.Unstructured, name string) []SeenEvent {
	var out []SeenEvent
	for _, obj := range listed {
		e := SeenEvent{}
		e.About, _, _ = unstructured.NestedString(obj.Object, "involvedObject", "name")
		if e.About != name && !strings.HasPrefix(e.About, name+"-") {
			continue
		}
		e.Reason, _ = obj.Object["reason"].(string)
		message, _ := obj.Object["message"].(string)
		e.State = e.Reason + " " + withoutDigits(message)
		if parts := strings.SplitN(message, `"`, 3); len(parts) == 3 {
			e.what = parts[1]
		}
		for _, field := range []string{"lastTimestamp", "eventTime", "firstTimestamp"} {
			text, _ := obj.Object[field].(string)
			if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(e.at) {
				e.at = at.Truncate(time.Second) // some have no fractions
			}
		}
		out = append(out, e)
	}
	return out
}

// Works reports whether an event about one of the objects says that the cluster is busy with
// it, and none reports the end of that: an image is pulled, a node is added.
func Works(events []SeenEvent) bool {
	return slices.ContainsFunc(events, func(start SeenEvent) bool {
		ends := endsOf(start.Reason)
		return ends != nil && !slices.ContainsFunc(events, func(end SeenEvent) bool {
			return end.About == start.About && slices.Contains(ends, end.Reason) && end.what == start.what && !end.at.Before(start.at)
		})
	})
}

// endsOf returns the reasons of the events that end what one with a reason begins; nil if
// that begins nothing.
func endsOf(reason string) []string {
	switch reason {
	case "Pulling":
		return []string{"Pulled", "Failed", "BackOff"}
	case "TriggeredScaleUp":
		return []string{"Scheduled", "NotTriggerScaleUp"}
	}
	return nil
}

// withoutDigits makes messages alike that differ in a time, a count or an address.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, text)
}
