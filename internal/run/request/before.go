package request

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	judgestatus "github.com/ordapply/ordapply/internal/judge/status"
)

// A failure that an object reported before this run touched it may be the one that the run
// repairs: a Deployment does not forget that its deadline passed when the ConfigMap that it
// reads is corrected. Such a failure counts when the object has had its own time again.

// failedBefore reports whether a failure is the one that the object reported when it was
// applied, and may end.
func (a Applied) failedBefore(live *unstructured.Unstructured, found health.Assessment) bool {
	return found.Verdict == health.Failed && !found.Final && !a.IsNew && a.before != nil && reflect.DeepEqual(a.before, a.trouble(live))
}

// trouble identifies a failure of an object; nil if it reports nothing.
func (a Applied) trouble(live *unstructured.Unstructured) any {
	status := judgestatus.Status(live)
	if len(status) == 0 {
		return nil
	}
	if !a.isNative() {
		return status
	}
	var marks []string
	for _, c := range judgestatus.Conditions(status) {
		if live.GetKind() != "Deployment" || c["type"] == "Progressing" {
			marks = append(marks, fmt.Sprint(c["type"], c["status"], c["reason"], c["lastTransitionTime"]))
		}
	}
	return strings.Join(marks, "\n")
}

// ownTime is how long an object may take: the progress deadline of a Deployment, and the
// status grace of any other.
func (j Judge) ownTime(live *unstructured.Unstructured) time.Duration {
	if live.GroupVersionKind().GroupKind().String() != "Deployment.apps" {
		return j.Grace
	}
	seconds, set, _ := unstructured.NestedInt64(live.Object, "spec", "progressDeadlineSeconds")
	if !set {
		seconds = 600 // its default
	}
	return time.Duration(seconds) * time.Second
}

// Observe records whether the object's ready count is higher than ever since it was applied.
func (a *Applied) Observe(live *unstructured.Unstructured) {
	switch n := judgestatus.ReadyCount(judgestatus.Status(live)); {
	case a.mostReady < 0:
		a.mostReady = n
	case n > a.mostReady:
		a.mostReady, a.progressAt = n, time.Now()
	}
}

// failureSince is the time since which a failure may be judged: that of the last progress
// if the object only calls itself degraded, which it does while parts are still starting.
func (a Applied) failureSince(found health.Assessment) time.Time {
	if found.Grade() == health.GradeDegraded && a.progressAt.After(a.At) {
		return a.progressAt
	}
	return a.At
}
