package sortorder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ordapply/ordapply/internal/plain"
)

// selector is a compiled entry of sortOrder.
type selector struct {
	conditions conditions
	unmatched  bool   // the entry for unmatched resources; has no conditions
	text       string // the selector for display, such as tier=data
	layer      string
	applied    bool // gate: applied
	timeout    time.Duration
}

// compile converts an entry to a selector and records its problems.
func (s selectorSpec) compile(path string, problems *Problems) selector {
	c := selectorCompiler{
		problems: problems,
		faulty:   problems.under(path),
		out:      selector{conditions: conditions{}, unmatched: s.Unmatched, layer: s.Layer},
	}
	c.annotations(s, path)
	if s.LabelSelector != nil {
		c.labels(*s.LabelSelector, plain.Field(path, "labelSelector"))
	}
	c.identity(s, path)
	c.gate(s, path)
	c.finish(s, path)
	return c.out
}

// selectorCompiler holds the state of compiling one selector.
type selectorCompiler struct {
	problems *Problems
	out      selector
	terms    []string // display text of each condition
	faulty   bool     // a condition was rejected, so the selector as a whole cannot be validated
}

func (c *selectorCompiler) refuse(path, format string, args ...any) {
	c.faulty = true
	c.problems.add(path, format, args...)
}

func (c *selectorCompiler) require(k key, want valueSet, term string) {
	c.out.conditions.require(k, want)
	c.terms = append(c.terms, term)
}

// annotations compiles matchAnnotations and matchExpressions. The KEP forbids
// null and empty values; null was rejected while decoding.
func (c *selectorCompiler) annotations(s selectorSpec, path string) {
	at := plain.Field(path, "matchAnnotations")
	if s.MatchAnnotations != nil && len(s.MatchAnnotations) == 0 {
		c.refuse(at, "is empty: name at least one annotation, or use unmatched: true for the position of unmatched resources")
	}
	for _, k := range slices.Sorted(maps.Keys(s.MatchAnnotations)) {
		value := s.MatchAnnotations[k]
		if k == "" || value == "" {
			c.refuse(plain.Field(at, k), "has an empty %s: write the annotation's key and value", emptyPart(k))
			continue
		}
		c.require(key{annotation, k}, only(value), k+"="+value)
	}
	c.expressions(s.MatchExpressions, annotation, plain.Field(path, "matchExpressions"))
}

func emptyPart(key string) string {
	if key == "" {
		return "key"
	}
	return "value"
}

// labels compiles a metav1.LabelSelector. An empty one would match everything,
// as in Kubernetes, and hide all later selectors, so it is rejected.
func (c *selectorCompiler) labels(s labelSelector, path string) {
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		c.refuse(path, "is empty and would match everything: name a label, or use unmatched: true for the position of unmatched resources")
	}
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if k == "" {
			c.refuse(plain.Field(plain.Field(path, "matchLabels"), k), "has an empty key: write the label's key")
			continue
		}
		c.require(key{label, k}, only(s.MatchLabels[k]), "label "+k+"="+s.MatchLabels[k])
	}
	c.expressions(s.MatchExpressions, label, plain.Field(path, "matchExpressions"))
}

// expressions compiles conditions as in metav1: NotIn also matches an absent
// key.
func (c *selectorCompiler) expressions(list []requirement, on aspect, path string) {
	if list != nil && len(list) == 0 {
		c.refuse(path, "is empty: write a condition or leave the field out")
	}
	for i, r := range list {
		at := plain.Item(path, i)
		if r.Key == "" {
			c.refuse(plain.Field(at, "key"), "is empty: write the key of the %s", on)
			continue
		}
		want, ok := r.wanted(at, on, c.refuse)
		if ok {
			c.require(key{on, r.Key}, want, r.text(on))
		}
	}
}

// wanted returns the values that the requirement accepts.
func (r requirement) wanted(path string, on aspect, refuse func(path, format string, args ...any)) (valueSet, bool) {
	takesValues := r.Operator == "In" || r.Operator == "NotIn"
	switch {
	case !takesValues && r.Operator != "Exists" && r.Operator != "DoesNotExist":
		refuse(plain.Field(path, "operator"), "is %q: write In, NotIn, Exists or DoesNotExist", r.Operator)
		return valueSet{}, false
	case takesValues && len(r.Values) == 0:
		refuse(plain.Field(path, "values"), "is empty: %s needs at least one value", r.Operator)
		return valueSet{}, false
	case !takesValues && r.Values != nil:
		refuse(plain.Field(path, "values"), "is not allowed with %s: remove it, or write operator: In", r.Operator)
		return valueSet{}, false
	case on == annotation && slices.Contains(r.Values, ""):
		refuse(fmt.Sprintf("%s.values[%d]", path, slices.Index(r.Values, "")), "is empty: write the annotation's value")
		return valueSet{}, false
	}
	switch r.Operator {
	case "In":
		return only(r.Values...), true
	case "NotIn":
		return valueSet{allBut: true, listed: sortedSet(r.Values), absent: true}, true
	case "Exists":
		return valueSet{allBut: true}, true
	}
	return valueSet{absent: true}, true
}

// text returns the requirement in kubectl's selector syntax.
func (r requirement) text(on aspect) string {
	key, values := r.Key, "("+strings.Join(r.Values, " ")+")"
	if on == label {
		key = "label " + key
	}
	switch r.Operator {
	case "In":
		return key + " in " + values
	case "NotIn":
		return key + " notin " + values
	case "Exists":
		return key
	}
	return "no " + key
}

// identity compiles group, kind, namespace and name.
func (c *selectorCompiler) identity(s selectorSpec, path string) {
	for _, field := range []struct {
		name    string
		aspect  aspect
		value   *string
		mayBeNo bool // the empty string is valid
	}{
		{"group", group, s.Group, true},
		{"kind", kind, s.Kind, false},
		{"namespace", namespace, s.Namespace, true},
		{"name", name, s.Name, false},
	} {
		if field.value == nil {
			continue
		}
		if *field.value == "" && !field.mayBeNo {
			c.refuse(plain.Field(path, field.name), "is empty: remove it to match any %s", field.name)
			continue
		}
		c.require(key{aspect: field.aspect}, only(*field.value), field.name+"="+*field.value)
	}
}

// gate compiles gate and timeout.
func (c *selectorCompiler) gate(s selectorSpec, path string) {
	switch s.Gate {
	case "", "ready":
	case "applied":
		c.out.applied = true
	default:
		c.problems.add(plain.Field(path, "gate"), "is %q: write ready or applied", s.Gate)
	}
	if s.Timeout == "" {
		return
	}
	timeout, err := time.ParseDuration(s.Timeout)
	if err != nil || timeout <= 0 {
		c.problems.add(plain.Field(path, "timeout"), "is %q: write a duration such as 90s or 5m", s.Timeout)
		return
	}
	c.out.timeout = timeout
}

// finish validates the selector as a whole and names its layer.
func (c *selectorCompiler) finish(s selectorSpec, path string) {
	switch {
	case s.Unmatched && (len(c.terms) > 0 || c.faulty):
		c.problems.add(path, "has unmatched: true and a condition, but unmatched resources match no condition: split it into two entries")
	case !s.Unmatched && len(c.terms) == 0 && !c.faulty:
		c.problems.add(path, "selects nothing: write matchAnnotations, matchExpressions, labelSelector, group, kind, namespace or name, or unmatched: true")
	}
	for _, k := range c.out.conditions.keys() {
		if c.out.conditions[k].empty() && !c.faulty {
			c.problems.add(path, "contradicts itself: no value meets its conditions on %s", k)
		}
	}
	c.out.text = strings.Join(c.terms, " and ")
	c.nameLayer(plain.Field(path, "layer"))
}

// nameLayer validates the layer's name, or derives it. Names occur in
// annotations as order/layer and in comma-separated lists.
func (c *selectorCompiler) nameLayer(path string) {
	if c.out.layer == "" {
		c.out.layer = defaultLayer(c.terms)
		if c.out.unmatched {
			c.out.layer = unmatchedLayer
		}
		return
	}
	if bad := strings.IndexFunc(c.out.layer, notInName); bad >= 0 {
		c.problems.add(path, "is %q: use letters, digits, and - _ . = + only", c.out.layer)
	}
}

// unmatchedLayer is the default name of the layer for unmatched resources.
const unmatchedLayer = "unmatched"

// defaultLayer derives a layer's name from its selector. It replaces spaces and
// commas, which lists of names cannot contain.
func defaultLayer(terms []string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ',':
			return ';'
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return '-'
		}
		return r
	}, strings.Join(terms, "+"))
}

// notInName reports whether a character is not permitted in names of orders and
// layers.
func notInName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_.=+", r)
}
