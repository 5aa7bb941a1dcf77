package health

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Complaint is a condition of a status that speaks against the object being
// ready.
type Complaint struct {
	Type, Status, Reason, Message string
	Since                         time.Time // when it became so; zero when it does not tell
	Underway                      bool      // it tells of work, not of trouble: Progressing is True
}

// Complaints lists the conditions of an object's status that speak against it,
// the gravest first: good ones that do not hold, bad ones that do, and those
// about an older generation.
func Complaints(obj *unstructured.Unstructured) []Complaint {
	status, _ := obj.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	type weighed struct {
		Complaint
		sign
	}
	var found []weighed
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		r := reading{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
		r.condition("", c, 0)
		if r.bad.means == silent {
			continue
		}
		since, _ := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		found = append(found, weighed{Complaint{fmt.Sprint(c["type"]), fmt.Sprint(c["status"]), reason, message, since, r.bad.means == busy && c["status"] == "True"}, r.bad})
	}
	slices.SortStableFunc(found, func(a, b weighed) int {
		switch {
		case a.outweighs(b.sign):
			return -1
		case b.outweighs(a.sign):
			return 1
		}
		return 0
	})
	complaints := make([]Complaint, len(found))
	for i, w := range found {
		complaints[i] = w.Complaint
	}
	return complaints
}
