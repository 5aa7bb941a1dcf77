package redact

import (
	"fmt"
	"strings"
)

// eachAnnotation changes the annotations of an object in place.
func eachAnnotation(fields map[string]any, change func(string) string) {
	metadata, _ := fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		annotations[key] = change(fmt.Sprint(value))
	}
}

// eachAppliedManifest changes the annotations that contain the manifest of a Secret, as
// kubectl's client-side apply writes it, in place.
func eachAppliedManifest(fields map[string]any, change func(string) string) {
	eachAnnotation(fields, func(text string) string {
		if strings.Contains(text, `ata"`) { // "data" or "stringData"
			return change(text)
		}
		return text
	})
}
