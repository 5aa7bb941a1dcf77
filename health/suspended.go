package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/status"
)

// markSuspended marks an object that is not ready and whose spec suspends or pauses it:
// its status may refer to an older spec, or remain incomplete, indefinitely.
func markSuspended(obj *unstructured.Unstructured, given Assessment) Assessment {
	if given.Verdict == Ready && status.IsPaused(obj) { // ready, and remains so
		given.Health = GradeSuspended
	}
	if key := status.SuspendField(obj); key != "" && given.Verdict == Progressing {
		given.SuspendedBySpec = true
		if given.Grade() == GradeProgressing {
			given.Health = GradeSuspended
		}
		given.Reason += "; spec." + key + " is true: it continues when that is unset"
	}
	return given
}

// SuspendedByManifest reports whether a manifest suspends or pauses its object, by
// spec.suspend, suspended, pause or paused; nil does not.
func SuspendedByManifest(manifest *unstructured.Unstructured) bool {
	return manifest != nil && status.SuspendField(manifest) != ""
}
