package history

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/track"
)

// timesAnnotation is on a head: the duration of the run that gave the revision its
// status, in JSON. It is written together with the status. Revisions of older versions
// have none, and older versions ignore it.
const timesAnnotation = "ordapply.dev/times"

// maxSeconds bounds the times in the annotation, which may have been edited: a year.
const maxSeconds = 365 * 24 * 60 * 60

// maxTimes bounds the size of the annotation in bytes. The times of waves of a longer one
// are left out.
const maxTimes = 32 << 10

// readTimes returns the times of a head; none if ordapply would not write them.
func readTimes(head *unstructured.Unstructured) track.RunTimes {
	var times track.RunTimes
	err := json.Unmarshal([]byte(head.GetAnnotations()[timesAnnotation]), &times)
	valid := err == nil && isTime(times.Seconds)
	for _, w := range times.ByWave {
		valid = valid && isTime(w.Seconds)
	}
	if !valid {
		return track.RunTimes{}
	}
	return times
}

func isTime(seconds float64) bool { return seconds >= 0 && seconds <= maxSeconds }

// timesText returns the annotation; "" for unknown times.
func timesText(times track.RunTimes) (string, error) {
	if times.Seconds == 0 && len(times.ByWave) == 0 {
		return "", nil
	}
	text, err := json.Marshal(times)
	if len(text) > maxTimes {
		text, err = json.Marshal(track.RunTimes{Seconds: times.Seconds})
	}
	return string(text), err
}
