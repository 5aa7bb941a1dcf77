package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/jsonpath"
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
	source string
	jsonpath.Comparison
}

func parseHelm(success, failure string) (helmReadiness, error) {
	ready, wrongSuccess := parseHelmConditions(success)
	failed, wrongFailure := parseHelmConditions(failure)
	return helmReadiness{ready, failed}, errors.Join(inAnnotation(helmSuccess, wrongSuccess), inAnnotation(helmFailure, wrongFailure))
}

// inAnnotation adds the key of an annotation to the error in its value; nil stays nil.
func inAnnotation(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("annotation %s: %w", key, err)
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
	path, rest, ok := jsonpath.CutBraced(braced(c.source))
	if !ok {
		return c, fmt.Errorf(`%q: write a condition as {.path} == value or path==value`, source)
	}
	operator, value := jsonpath.CutOperator(strings.TrimSpace(rest))
	if operator == "" {
		return c, fmt.Errorf("%q: write one of == != < <= > >= after the path", source)
	}
	c.Operator, c.Value = operator, jsonpath.Unquote(strings.TrimSpace(value))
	path = strings.TrimSpace(path)
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") {
		return c, fmt.Errorf("%q: the path must begin with . or [", source)
	}
	var err error
	if c.Path, err = jsonpath.Parse(scopeToStatus(path)); err != nil {
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

// scopeToStatus converts .foo to .status.foo (HIP-0025).
func scopeToStatus(path string) string {
	if path == ".status" || strings.HasPrefix(path, ".status.") || strings.HasPrefix(path, ".status[") {
		return path
	}
	return ".status" + path
}

// assess assesses by the two lists. It ignores a status about an older spec.
func (h helmReadiness) assess(obj *unstructured.Unstructured) Assessment {
	if a, stale := isStaleStatus(obj); stale {
		return a
	}
	for _, c := range h.failure {
		if c.Holds(obj.Object) {
			return withReportedError(obj, Assessment{Verdict: Failed, Reason: c.source + " holds", Rule: "annotation " + helmFailure})
		}
	}
	var sources []string
	for _, c := range h.success {
		if c.Holds(obj.Object) {
			return Assessment{Verdict: Ready, Reason: c.source + " holds", Rule: "annotation " + helmSuccess}
		}
		sources = append(sources, c.source)
	}
	return withReportedError(obj, Assessment{Verdict: Progressing, Reason: "not yet " + strings.Join(sources, " or "), Rule: "annotation " + helmSuccess})
}
