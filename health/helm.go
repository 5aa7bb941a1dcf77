package health

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// helmReadiness holds the conditions of Helm's HIP-0025: any success condition
// makes the object ready, any failure condition failed, and failure takes
// precedence.
type helmReadiness struct {
	success, failure []helmCondition
}

// helmCondition is a condition such as `{.succeeded} == 1`: a JSONPath relative
// to the status, an operator, and the rest of the text as the value.
type helmCondition struct {
	source   string
	path     jsonPath
	operator string
	value    string
}

func parseHelm(success, failure string) (helmReadiness, error) {
	var h helmReadiness
	var errs [2]error
	for i, list := range []struct {
		key, text string
		into      *[]helmCondition
	}{{helmSuccess, success, &h.success}, {helmFailure, failure, &h.failure}} {
		parsed, err := parseHelmConditions(list.text)
		if *list.into = parsed; err != nil {
			errs[i] = fmt.Errorf("annotation %s: %w", list.key, err)
		}
	}
	return h, errors.Join(errs[:]...)
}

// parseHelmConditions parses an annotation: a JSON array of conditions, or a
// single condition.
func parseHelmConditions(text string) ([]helmCondition, error) {
	sources := []string{text}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &sources); err != nil {
			return nil, fmt.Errorf("%q is not a JSON array of strings: %w", text, err)
		}
	}
	var parsed []helmCondition
	var errs []error
	for _, source := range sources {
		c, err := parseHelmCondition(source)
		if err != nil {
			errs = append(errs, err)
		}
		parsed = append(parsed, c)
	}
	return parsed, errors.Join(errs...)
}

func parseHelmCondition(source string) (helmCondition, error) {
	c := helmCondition{source: strings.TrimSpace(source)}
	rest, ok := strings.CutPrefix(braced(c.source), "{")
	path, rest, closed := cutPath(rest)
	if !ok || !closed {
		return c, fmt.Errorf(`%q: write a condition as {.path} == value or path==value`, source)
	}
	rest = strings.TrimSpace(rest)
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if value, ok := strings.CutPrefix(rest, operator); ok {
			c.operator, c.value = operator, unquote(strings.TrimSpace(value))
			break
		}
	}
	if c.operator == "" {
		return c, fmt.Errorf("%q: write one of == != < <= > >= after the path", source)
	}
	path = strings.TrimSpace(path)
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") {
		return c, fmt.Errorf("%q: the path must begin with . or [", source)
	}
	var err error
	if c.path, err = parseJSONPath(scopeToStatus(path)); err != nil {
		return c, fmt.Errorf("%q: %w", source, err)
	}
	return c, nil
}

// braced converts succeeded==1, the notation of the proposal's example, to
// {.succeeded}==1.
func braced(source string) string {
	at := strings.IndexAny(source, "=!<>")
	if at <= 0 {
		return source
	}
	path := strings.TrimSpace(source[:at])
	if strings.Trim(strings.ToLower(path), "abcdefghijklmnopqrstuvwxyz0123456789_-.[]") != "" {
		return source
	}
	return "{." + strings.TrimPrefix(path, ".") + "}" + source[at:]
}

// cutPath cuts at the brace that closes the path, ignoring quoted braces.
func cutPath(text string) (path, rest string, ok bool) {
	quote := rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '}':
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// scopeToStatus converts .foo to .status.foo (HIP-0025).
func scopeToStatus(path string) string {
	if path == ".status" || strings.HasPrefix(path, ".status.") || strings.HasPrefix(path, ".status[") {
		return path
	}
	return ".status" + path
}

func unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return value[1 : len(value)-1]
		}
	}
	return value
}

// assess assesses by the two lists. It ignores a status about an older spec.
func (h helmReadiness) assess(obj *unstructured.Unstructured) Assessment {
	status, _ := obj.Object["status"].(map[string]any)
	if a, stale := isStaleStatus(obj, status); stale {
		return a
	}
	for _, c := range h.failure {
		if c.holds(obj.Object) {
			return withReportedError(obj, Assessment{Verdict: Failed, Reason: c.source + " holds", Rule: "annotation " + helmFailure})
		}
	}
	var sources []string
	for _, c := range h.success {
		if c.holds(obj.Object) {
			return Assessment{Verdict: Ready, Reason: c.source + " holds", Rule: "annotation " + helmSuccess}
		}
		sources = append(sources, c.source)
	}
	return withReportedError(obj, Assessment{Verdict: Progressing, Reason: "not yet " + strings.Join(sources, " or "), Rule: "annotation " + helmSuccess})
}

// holds compares as HIP-0025 specifies: numbers as numbers, booleans as
// booleans, everything else as strings, which have no order. A missing field
// matches no condition.
func (c helmCondition) holds(object any) bool {
	found := c.path.find(object)
	if len(found) == 0 {
		return false
	}
	texts := make([]string, len(found))
	for i, value := range found {
		texts[i] = fmt.Sprint(value)
	}
	got := strings.Join(texts, " ")
	order, ordered := compareNumbers(got, c.value)
	if !ordered {
		return c.operator == "==" && got == c.value || c.operator == "!=" && got != c.value
	}
	return meets(order, c.operator)
}

// meets reports whether the result of a comparison satisfies the operator.
func meets(order int, operator string) bool {
	switch operator {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func compareNumbers(a, b string) (order int, ok bool) {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y), errX == nil && errY == nil
}
