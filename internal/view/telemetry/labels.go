package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
)

// checkLabel returns an error if a label cannot be added to every series of a
// run.
func checkLabel(name string) error {
	switch {
	case !model.LegacyValidation.IsValidLabelName(name) || strings.HasPrefix(name, "__"):
		return fmt.Errorf("%q is not a label name: use letters, digits and underscores, without a leading digit or two leading underscores", name)
	case slices.Contains([]string{"phase", "kind", "state", "verb", "code", "reason", "wave", "name", "le"}, name):
		return fmt.Errorf("label %s is reserved in these metrics: use another name", name)
	}
	return nil
}

// withLabels adds labels to every series, so that the files of several runs can
// be collected from one folder.
func withLabels(families []*dto.MetricFamily, labels map[string]string) {
	for _, family := range families {
		for _, series := range family.Metric {
			for name, value := range labels {
				series.Label = append(series.Label, &dto.LabelPair{Name: &name, Value: &value})
			}
			slices.SortFunc(series.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
		}
	}
}
