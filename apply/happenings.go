package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// eventsEach bounds the events that are told of one object.
const eventsEach = 3

// eventsAtMost bounds one answer about events.
const eventsAtMost = 100

// events asks what happened to an object, and tells the newest of each reason:
// warnings, and for volumes, which wait in silence, all others too. It reports
// whether there were any. An object is asked about once.
func (q *inquiry) events(ctx context.Context, about *unstructured.Unstructured) bool {
	if q.asked[about.GetUID()] {
		return false
	}
	q.asked[about.GetUID()] = true
	listed, _ := q.list(ctx, coreKind("events"), cmp.Or(about.GetNamespace(), "default"), Query{
		Fields: "involvedObject.uid=" + string(about.GetUID()), Limit: eventsAtMost,
	})
	events := newestEvents(listed, about.GetKind() == "PersistentVolumeClaim")
	for _, e := range events {
		if message := oneLine(e.message); message == "" || !q.isSaid(message) {
			q.findings = append(q.findings, Finding{About: Meta(about).ID, Text: e.text(q.now)})
		}
	}
	return len(events) > 0
}

// event is what is read of one.
type event struct {
	reason, message string
	times           int64
	last            time.Time
}

// text is the event as people read it.
func (e event) text(now time.Time) string {
	text := "event " + e.reason
	if e.times > 1 {
		text += fmt.Sprintf(", %d times, last", e.times)
	}
	if !e.last.IsZero() {
		text += " " + age(now, e.last) + " ago"
	}
	if e.message != "" {
		text += ": " + oneLine(e.message)
	}
	return text
}

// newestEvents reads events, the newest of each reason only, newest first. The
// rest of a message may hold generated names, which differ each time.
func newestEvents(listed []*unstructured.Unstructured, all bool) []event {
	var events []event
	for _, obj := range listed {
		if all || obj.Object["type"] == "Warning" {
			events = append(events, readEvent(obj))
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return b.last.Compare(a.last) })
	seen := map[string]bool{}
	events = slices.DeleteFunc(events, func(e event) bool {
		again := seen[e.reason]
		seen[e.reason] = true
		return again
	})
	return events[:min(len(events), eventsEach)]
}

func readEvent(obj *unstructured.Unstructured) event {
	e := event{reason: textOf(obj.Object["reason"]), message: textOf(obj.Object["message"])}
	e.times, _, _ = unstructured.NestedInt64(obj.Object, "count")
	if n, ok, _ := unstructured.NestedInt64(obj.Object, "series", "count"); ok {
		e.times = n
	}
	latest, _, _ := unstructured.NestedString(obj.Object, "series", "lastObservedTime")
	for _, field := range []string{latest, textOf(obj.Object["lastTimestamp"]), textOf(obj.Object["eventTime"])} {
		if at, err := time.Parse(time.RFC3339, field); err == nil && at.After(e.last) {
			e.last = at
		}
	}
	return e
}
