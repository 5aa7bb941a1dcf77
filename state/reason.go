package state

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// Bounds of the errors of its run that a revision stores.
const (
	maxReasons = 5
	maxReason  = 400 // bytes of one
)

// reasonOf returns the first errors of a run for its revision, one a line, without values
// of Secrets; "" for nil.
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
	var lines []string
	for _, one := range plain.Sample(ordering.FlattenErrors(err), maxReasons, "and %d more errors", error.Error) {
		line := plain.OneLine(replacer.Text(one))
		if len(line) > maxReason {
			line = strings.ToValidUTF8(line[:maxReason], "") + "…"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
