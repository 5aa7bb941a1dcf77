package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// maxEventsPerObject bounds the events that are reported for one object.
const maxEventsPerObject = 3

// maxEventsPerList bounds one LIST of events.
const maxEventsPerList = 100

// events reads the events of an object and reports the newest of each reason:
// warnings, and for PersistentVolumeClaims, which wait without warnings, all
// others too. It reports whether there were any. An object's events are read
// only once.
func (q *diagnoser) events(ctx context.Context, about *unstructured.Unstructured) bool {
	if q.eventsRead[about.GetUID()] {
		return false
	}
	q.eventsRead[about.GetUID()] = true
	listed, _ := q.list(ctx, kube.CoreKind("events"), cmp.Or(about.GetNamespace(), "default"), kube.Query{
		Fields: "involvedObject.uid=" + string(about.GetUID()), Limit: maxEventsPerList,
	})
	events := newestEvents(listed, about.GetKind() == "PersistentVolumeClaim")
	for _, e := range events {
		if message := oneLine(e.message); message == "" || !q.isReported(message) {
			q.findings = append(q.findings, Finding{About: kube.Meta(about).ID, Text: e.text(q.now)})
		}
	}
	return len(events) > 0
}

// event is what is read of one Event.
type event struct {
	reason, message string
	times           int64
	last            time.Time
}

// text returns the event as one line of text.
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

// newestEvents returns the newest event of each reason, newest first.
// Messages are not compared: they may contain generated names, which differ
// each time.
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
	return events[:min(len(events), maxEventsPerObject)]
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
