package helmreferee

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/auditlog"
)

// role is the role of an object in a chart.
type role int

const (
	foreign  role = iota // not part of the chart
	template             // created by kind or by wave: only its position among the hooks matters
	first                // a CRD or Namespace, which comes first
	hook
)

// sequenceEvent is one line of a sequence.
type sequenceEvent struct {
	at   time.Time
	text string // "+ jobs/migrate", "done jobs/migrate"; "" for an update
	role role
}

// sequence returns a tool's changes of a chart's objects, one line each: "+" for a create,
// "-" for a delete, and the completion of a hook's Job or Pod. Templates are combined into
// one line until a hook comes between them.
func sequence(requests []auditlog.Request, namespace string, roles map[auditlog.Key]role) string {
	var all []sequenceEvent
	finished := map[string]bool{} // by UID
	for _, r := range requests {
		if h, ok := eventOf(r, namespace, roles[r.Key]); ok {
			all = append(all, h)
		}
		if h, uid, ok := ended(r, namespace); ok && roles[r.Key] == hook && !finished[uid] {
			finished[uid] = true
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b sequenceEvent) int { return a.at.Compare(b.at) })
	return lines(all)
}

// someHookRuns reports whether a Job or Pod that was created as a hook has not ended.
func someHookRuns(requests []auditlog.Request, namespace string, roles map[auditlog.Key]role) bool {
	running, ends := map[auditlog.Key]int{}, map[string]bool{}
	for _, r := range requests {
		if h, ok := eventOf(r, namespace, roles[r.Key]); ok && h.role == hook && (r.Resource == "jobs" || r.Resource == "pods") && strings.HasPrefix(h.text, "+") {
			running[r.Key]++
		}
		if _, uid, ok := ended(r, namespace); ok && roles[r.Key] == hook && !ends[uid] {
			ends[uid] = true
			running[r.Key]--
		}
	}
	for _, n := range running {
		if n > 0 {
			return true
		}
	}
	return false
}

// lines formats a sequence and combines templates.
func lines(all []sequenceEvent) string {
	var out strings.Builder
	for i := 0; i < len(all); i++ {
		if all[i].role != template {
			out.WriteString("  " + all[i].text + "\n")
			continue
		}
		var block []string
		for ; i < len(all) && all[i].role == template; i++ {
			if all[i].text != "" {
				block = append(block, all[i].text)
			}
		}
		i--
		slices.SortFunc(block, func(a, b string) int { return cmp.Compare(a, b) })
		out.WriteString("  " + strings.TrimSpace("templates "+strings.Join(slices.Compact(block), ", ")) + "\n")
	}
	return out.String()
}

// eventOf converts a create or delete of an object of the chart, or an update
// of a template.
func eventOf(r auditlog.Request, namespace string, of role) (sequenceEvent, bool) {
	if of == foreign || r.User != "admin" || r.Subresource != "" || r.Code >= 300 {
		return sequenceEvent{}, false
	}
	h := sequenceEvent{at: r.Arrived, role: of}
	switch {
	case r.Verb == "delete":
		h.text = "- " + title(r.Key, namespace)
	case r.Code == 201:
		h.text = "+ " + title(r.Key, namespace)
	case of == template && (r.Verb == "patch" || r.Verb == "update"):
	default:
		return sequenceEvent{}, false
	}
	return h, true
}

// ended converts the status update that completes a Job or Pod. It uses the
// request's arrival, since a watcher may act before the writer gets its
// response.
func ended(r auditlog.Request, namespace string) (h sequenceEvent, uid string, ok bool) {
	if r.Subresource != "status" || r.Code >= 300 || r.Resource != "jobs" && r.Resource != "pods" {
		return sequenceEvent{}, "", false
	}
	var object struct {
		Metadata struct{ UID string }
		Status   struct {
			Phase      string
			Conditions []struct{ Type, Status string }
		}
	}
	if json.Unmarshal(r.Object, &object) != nil {
		return sequenceEvent{}, "", false
	}
	end := map[string]string{"Succeeded": "done", "Failed": "failed"}[object.Status.Phase]
	for _, c := range object.Status.Conditions {
		if word, is := map[string]string{"Complete": "done", "Failed": "failed"}[c.Type]; is && c.Status == "True" && r.Resource == "jobs" {
			end = word
		}
	}
	return sequenceEvent{at: r.Arrived, role: hook, text: end + " " + title(r.Key, namespace)}, object.Metadata.UID, end != ""
}

// title returns an object's name in sequences; the chart's own namespace is
// omitted.
func title(key auditlog.Key, namespace string) string {
	if key.Namespace == "" || key.Namespace == namespace {
		return key.Resource + "/" + key.Name
	}
	return key.Namespace + "/" + key.Resource + "/" + key.Name
}
