package helmreferee

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/auditlog"
)

// role is what an object is in a chart.
type role int

const (
	foreign  role = iota // no part of the chart
	template             // created by kind or by wave: only its place among the hooks counts
	first                // a CRD or Namespace: it has a place of its own
	hook
)

// happening is one line of a sequence.
type happening struct {
	at   time.Time
	text string // "+ jobs/migrate", "done jobs/migrate"; "" for an object that was only changed
	role role
}

// sequence tells what a tool did to the objects of a chart, one line each: "+" a
// create, "-" a delete, and when a hook's Job or Pod was done. The templates are one
// line as long as no hook comes between them.
func sequence(requests []auditlog.Request, namespace string, roles map[auditlog.Key]role) string {
	var all []happening
	finished := map[string]bool{} // by uid
	for _, r := range requests {
		if h, ok := happened(r, namespace, roles[r.Key]); ok {
			all = append(all, h)
		}
		if h, uid, ok := ended(r, namespace); ok && roles[r.Key] == hook && !finished[uid] {
			finished[uid] = true
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b happening) int { return a.at.Compare(b.at) })
	return lines(all)
}

// lines writes a sequence, and gathers the templates.
func lines(all []happening) string {
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

// happened reads a create or delete of an object of the chart, or a change of a
// template.
func happened(r auditlog.Request, namespace string, of role) (happening, bool) {
	if of == foreign || r.User != "admin" || r.Subresource != "" || r.Code >= 300 {
		return happening{}, false
	}
	h := happening{at: r.Arrived, role: of}
	switch {
	case r.Verb == "delete":
		h.text = "- " + title(r.Key, namespace)
	case r.Code == 201:
		h.text = "+ " + title(r.Key, namespace)
	case of == template && (r.Verb == "patch" || r.Verb == "update"):
	default:
		return happening{}, false
	}
	return h, true
}

// ended reads the status by which a Job or a Pod is done. It counts from the request's
// arrival: who watches may act before the writer has its answer.
func ended(r auditlog.Request, namespace string) (h happening, uid string, ok bool) {
	if r.Subresource != "status" || r.Code >= 300 || r.Resource != "jobs" && r.Resource != "pods" {
		return happening{}, "", false
	}
	var object struct {
		Metadata struct{ UID string }
		Status   struct {
			Phase      string
			Conditions []struct{ Type, Status string }
		}
	}
	if json.Unmarshal(r.Object, &object) != nil {
		return happening{}, "", false
	}
	end := map[string]string{"Succeeded": "done", "Failed": "failed"}[object.Status.Phase]
	for _, c := range object.Status.Conditions {
		if word, is := map[string]string{"Complete": "done", "Failed": "failed"}[c.Type]; is && c.Status == "True" && r.Resource == "jobs" {
			end = word
		}
	}
	return happening{at: r.Arrived, role: hook, text: end + " " + title(r.Key, namespace)}, object.Metadata.UID, end != ""
}

// title is an object as sequences name it; the chart's own namespace is not named.
func title(key auditlog.Key, namespace string) string {
	if key.Namespace == "" || key.Namespace == namespace {
		return key.Resource + "/" + key.Name
	}
	return key.Namespace + "/" + key.Resource + "/" + key.Name
}
