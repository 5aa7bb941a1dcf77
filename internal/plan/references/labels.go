package references

import (
	"maps"
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// selector is a metav1.LabelSelector read from a manifest.
type selector struct {
	labels      map[string]string
	expressions []labelExpression
}

type labelExpression struct {
	key, operator string
	values        []string
}

func readSelector(v any) selector {
	s := selector{labels: stringMap(Field(v, "matchLabels"))}
	for _, e := range List(v, "matchExpressions") {
		s.expressions = append(s.expressions, labelExpression{key: String(e, "key"), operator: String(e, "operator"), values: Texts(e, "values")})
	}
	return s
}

func (s selector) empty() bool { return len(s.labels) == 0 && len(s.expressions) == 0 }

// about returns the requirements of a selector on one label.
func (s selector) about(key string) selector {
	part := selector{labels: map[string]string{}}
	if value, ok := s.labels[key]; ok {
		part.labels[key] = value
	}
	for _, e := range s.expressions {
		if e.key == key {
			part.expressions = append(part.expressions, e)
		}
	}
	return part
}

// matches implements metav1.LabelSelector: NotIn also matches an absent key.
func (s selector) matches(labels map[string]string) bool {
	for key, value := range s.labels {
		if have, ok := labels[key]; !ok || have != value {
			return false
		}
	}
	return !slices.ContainsFunc(s.expressions, func(e labelExpression) bool { return !e.matches(labels) })
}

func (e labelExpression) matches(labels map[string]string) bool {
	value, present := labels[e.key]
	switch e.operator {
	case "In":
		return present && slices.Contains(e.values, value)
	case "NotIn":
		return !present || !slices.Contains(e.values, value)
	case "Exists":
		return present
	case "DoesNotExist":
		return !present
	}
	return false
}

// addWorkload indexes a workload by its Pod labels.
func (ix *Index) addWorkload(i int, r ordering.Resource) {
	template := ix.templates[i]
	if template.spec == nil {
		return
	}
	all := podLabel{r.Namespace, ""}
	ix.workloads[all] = append(ix.workloads[all], i)
	for key, value := range template.labels() {
		label := podLabel{r.Namespace, key + "=" + value}
		ix.workloads[label] = append(ix.workloads[label], i)
	}
}

// selected returns the workloads of a namespace whose Pods a selector matches.
// It tests only workloads with the rarest required label.
func (ix *Index) selected(namespace string, s selector) []int {
	candidates := ix.workloads[podLabel{namespace, ""}]
	for _, key := range slices.Sorted(maps.Keys(s.labels)) {
		if with := ix.workloads[podLabel{namespace, key + "=" + s.labels[key]}]; len(with) < len(candidates) {
			candidates = with
		}
	}
	var out []int
	for _, i := range candidates {
		if s.matches(ix.templates[i].labels()) {
			out = append(out, i)
		}
	}
	return out
}

// WorkloadsBehind returns the workloads of the stream that a Service selects.
func (ix *Index) WorkloadsBehind(service int) []int {
	r := ix.Resources[service]
	labels := stringMap(Field(r.Object, "spec", "selector"))
	if len(labels) == 0 {
		return nil
	}
	return ix.selected(r.Namespace, selector{labels: labels})
}
