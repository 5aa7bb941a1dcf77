package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/condition"
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
	condition.Comparison
}

func parseHelm(success, failure string) (helmReadiness, error) {
	ready, wrongSuccess := parseHelmSuccess(success)
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

// parseHelmSuccess parses the annotation without which an object is never ready. No failure
// conditions are fine.
func parseHelmSuccess(text string) ([]helmCondition, error) {
	parsed, err := parseHelmConditions(text)
	if err == nil && len(parsed) == 0 {
		err = errors.New("an empty list never holds: write at least one condition")
	}
	return parsed, err
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
	path, rest, ok := condition.CutBraced(braced(c.source))
	if !ok {
		return c, fmt.Errorf(`%q: write a condition as {.path} == value or path==value`, source)
	}
	operator, value := condition.CutOperator(strings.TrimSpace(rest))
	if operator == "" {
		return c, fmt.Errorf("%q: write one of == != < <= > >= after the path", source)
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return c, fmt.Errorf(`%q: write a value after %s; "" is the empty one`, source, operator)
	}
	c.Operator, c.Value = operator, condition.Unquote(value)
	path = strings.TrimPrefix(strings.TrimSpace(path), "$") // the status itself, in other dialects
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") {
		return c, fmt.Errorf("%q: the path must begin with . or [", source)
	}
	var err error
	if c.Path, err = condition.ParseJSONPath(scopeToStatus(path)); err != nil {
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
	path := strings.TrimPrefix(strings.TrimSpace(source[:at]), "$") // the status itself, as in braces
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

// assess assesses by the two lists.
func (h helmReadiness) assess(obj *unstructured.Unstructured) Assessment {
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
