package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plain"
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
func (q *Diagnoser) events(ctx context.Context, about *unstructured.Unstructured) bool {
	if q.EventsRead[about.GetUID()] {
		return false
	}
	q.EventsRead[about.GetUID()] = true
	listed, _ := q.list(ctx, kube.CoreKind("events"), cmp.Or(about.GetNamespace(), "default"), kube.Query{
		Fields: "involvedObject.uid=" + string(about.GetUID()), Limit: maxEventsPerList,
	})
	events := NewestEvents(listed, about.GetKind() == "PersistentVolumeClaim")
	for _, e := range events {
		if message := plain.OneLine(e.Message); message == "" || !q.isReported(message) {
			f := finding{Finding: event.Finding{About: kube.Meta(about).ID, Text: e.text(q.Now)}, lasting: e.text(time.Time{}), explains: explainsSome}
			if f.About != q.of {
				f.explains = explainsEvent
			}
			q.findings = append(q.findings, f)
		}
	}
	return len(events) > 0
}

// Event holds the fields read of an Event.
type Event struct {
	Reason, Message string
	times           int64
	last            time.Time
}

// text returns the event as one line of text, without times where now is zero.
func (e Event) text(now time.Time) string {
	text := "event " + e.Reason
	if e.times > 1 && !now.IsZero() {
		text += fmt.Sprintf(", %d times, last", e.times)
	}
	if !e.last.IsZero() && !now.IsZero() {
		text += " " + plain.Age(now, e.last) + " ago"
	}
	if e.Message != "" {
		text += ": " + plain.OneLine(e.Message)
	}
	return text
}

// NewestEvents returns the newest event of each reason, newest first.
// Messages are not compared: they may contain generated names, which differ
// each time.
func NewestEvents(listed []*unstructured.Unstructured, all bool) []Event {
	var events []Event
	for _, obj := range listed {
		if all || obj.Object["type"] == "Warning" {
			events = append(events, readEvent(obj))
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return b.last.Compare(a.last) })
	seen := map[string]bool{}
	events = slices.DeleteFunc(events, func(e Event) bool {
		again := seen[e.Reason]
		seen[e.Reason] = true
		return again
	})
	return events[:min(len(events), maxEventsPerObject)]
}

func readEvent(obj *unstructured.Unstructured) Event {
	e := Event{Reason: TextOf(obj.Object["reason"]), Message: TextOf(obj.Object["message"])}
	e.times, _, _ = unstructured.NestedInt64(obj.Object, "count")
	if n, ok, _ := unstructured.NestedInt64(obj.Object, "series", "count"); ok {
		e.times = n
	}
	latest, _, _ := unstructured.NestedString(obj.Object, "series", "lastObservedTime")
	for _, field := range []string{latest, TextOf(obj.Object["lastTimestamp"]), TextOf(obj.Object["eventTime"])} {
		if at, err := time.Parse(time.RFC3339, field); err == nil && at.After(e.last) {
			e.last = at
		}
	}
	return e
}
