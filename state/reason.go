package state

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// Bounds of the errors of its run that a revision stores.
const (
	maxReasons = 5
	maxReason  = 400 // bytes of one, and of its cause
)

// reasonOf returns the first errors of a run for its revision, one a line with its cause, without
// values of Secrets; "" for nil.
func (r Run) reasonOf(err error) string {
	if err == nil {
		return ""
	}
	var values []string
	hide := func(objects ...map[string]any) {
		for _, object := range objects {
			if secret := (&unstructured.Unstructured{Object: object}); secret.GetKind() == "Secret" {
				values = append(values, redact.Values(secret)...)
			}
		}
	}
	for _, resource := range slices.Concat(r.Stream.Resources, r.Stream.Hooks) {
		hide(resource.Object)
	}
	replacer := redact.NewReplacer(values)
	short := func(text string) string {
		text = plain.OneLine(replacer.Text(text))
		if len(text) > maxReason {
			text = strings.ToValidUTF8(text[:maxReason], "") + "…"
		}
		return text
	}
	text := func(one error) string {
		if failure, ok := errors.AsType[*event.Error](one); ok && failure.Diagnosis != nil && failure.Diagnosis.Cause != "" {
			return short(one.Error()) + "; " + short(failure.Diagnosis.Cause)
		}
		return short(one.Error())
	}
	return strings.Join(plain.Sample(ordering.FlattenErrors(err), maxReasons, "and %d more errors", text), "\n")
}
