package health

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/object"
)

// Annotations by which an object defines its own readiness.
const (
	readyWhen  = "ordapply.dev/ready-when"  // CEL over self
	failedWhen = "ordapply.dev/failed-when" // CEL over self

	helmSuccess = "helm.sh/readiness-success" // Helm HIP-0025, JSONPath conditions over the status
	helmFailure = "helm.sh/readiness-failure"
)

// Check returns the errors in an object's readiness annotations, joined. Call it
// before the object is applied: Assess returns Unknown for such an object, or
// ignores one of Helm's annotations without the other.
func (a *Assessor) Check(obj *unstructured.Unstructured) error {
	var errs []error
	annotations := obj.GetAnnotations()
	for _, key := range []string{readyWhen, failedWhen} {
		_, err := a.expression(annotations[key])
		errs = append(errs, inAnnotation(key, err))
	}
	success, hasSuccess := annotations[helmSuccess]
	failure, hasFailure := annotations[helmFailure]
	switch {
	case hasSuccess && !hasFailure:
		errs = append(errs, fmt.Errorf("annotation %s has no effect without %s (HIP-0025): add it", helmSuccess, helmFailure))
	case hasFailure && !hasSuccess:
		errs = append(errs, fmt.Errorf("annotation %s has no effect without %s (HIP-0025): add it", helmFailure, helmSuccess))
	case hasSuccess:
		_, err := parseHelm(success, failure)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckCondition returns the error in a CEL condition over self, as in ready-when
// and failed-when: it does not compile, or cannot be a boolean. "" is valid.
func CheckCondition(source string) error {
	if source == "" {
		return nil
	}
	_, err := condition.Compile(source)
	return err
}

// CheckHelmSuccess returns the error in the value of Helm's annotation
// readiness-success (HIP-0025), a condition or a JSON list of conditions.
func CheckHelmSuccess(text string) error {
	_, err := parseHelmSuccess(text)
	return err
}

// CheckHelmFailure returns the error in the value of readiness-failure, which may be an
// empty list.
func CheckHelmFailure(text string) error {
	_, err := parseHelmConditions(text)
	return err
}

// hasRule reports whether an object has an annotation about its readiness.
func hasRule(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc([]string{failedWhen, readyWhen, helmSuccess, helmFailure}, func(key string) bool {
		_, has := object.Annotation(obj.Object, key)
		return has
	})
}

// byAnnotation assesses an object by its annotations.
func (a *Assessor) byAnnotation(obj *unstructured.Unstructured) (Assessment, bool) {
	if !hasRule(obj) {
		return Assessment{}, false
	}
	annotations := obj.GetAnnotations()
	var c conditions
	for _, w := range []struct {
		key string
		when
	}{
		{failedWhen, when{field: "failedWhen", verdict: Failed, grade: GradeFailed}},
		{readyWhen, when{field: "readyWhen", verdict: Ready}},
	} {
		var err error
		w.rule = "annotation " + w.key
		if w.Condition, err = a.expression(annotations[w.key]); err != nil {
			return invalidRule(w.rule, err), true
		}
		if w.Condition != nil {
			c = append(c, w.when)
		}
	}
	if assessment, ok := c.assess(obj); ok && len(c) > 0 {
		return assessment, true
	}
	success, hasSuccess := annotations[helmSuccess]
	failure, hasFailure := annotations[helmFailure]
	if !hasSuccess || !hasFailure { // HIP-0025: both are required
		return Assessment{}, false
	}
	helm, err := parseHelm(success, failure)
	if err != nil {
		return invalidRule("annotation "+helmSuccess, err), true
	}
	return helm.assess(obj), true
}

// expression returns the compiled condition of an annotation, from a cache; nil
// if source is empty.
func (a *Assessor) expression(source string) (*condition.Condition, error) {
	if source == "" {
		return nil, nil
	}
	compile, _ := a.expressions.LoadOrStore(source, sync.OnceValues(func() (*condition.Condition, error) {
		return condition.Compile(source)
	}))
	return compile.(func() (*condition.Condition, error))()
}
