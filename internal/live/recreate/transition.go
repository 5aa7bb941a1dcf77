package recreate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// For built-in kinds the API server has its own words for a field that cannot be changed.
// For custom resources it repeats the message of a validation rule, which may say anything.
// There a rule makes a field immutable if it compares the field with the live object's: a
// transition rule, which uses oldSelf.

// isImmutable returns nil when the API server refused a PATCH because of immutable fields
// alone, else ErrOtherCause or the error of the request that finds out.
func (c Check) isImmutable(ctx context.Context, o Candidate) error {
	if object.IsNative(o.Manifest.GroupVersionKind().Group) {
		if len(write.ImmutableFields(o.Refusal)) == 0 {
			return ErrOtherCause
		}
		return nil
	}
	isCause := write.IsImmutable
	crd, err := c.Cluster.Get(ctx, kube.DefinitionKind("customresourcedefinitions"), "", o.Kind.CRDName())
	switch {
	case kube.IsGone(err): // an aggregated API server serves the kind
	case err != nil:
		return fmt.Errorf("read the validation rules of CustomResourceDefinition %s: %w", o.Kind.CRDName(), err)
	default:
		rules := rulesOf(crd, o.Kind.Resource.Version)
		isCause = func(cause metav1.StatusCause) bool {
			return strings.HasPrefix(cause.Field, "metadata.") && write.IsImmutable(cause) || isTransition(rules, cause)
		}
	}
	if len(write.InvalidFieldsOf(o.Refusal, isCause)) == 0 {
		return ErrOtherCause
	}
	return nil
}

// rule is one of x-kubernetes-validations.
type rule struct {
	text, message string
	dynamic       bool // its message is computed
}

func (r rule) usesOldSelf() bool { return regexp.MustCompile(`\boldSelf\b`).MatchString(r.text) }

// mayHaveSaid reports whether the message of a cause may be of the rule.
func (r rule) mayHaveSaid(message string) bool {
	said := r.message
	if said == "" {
		said = "failed rule: " + r.text
	}
	return message == said || strings.HasSuffix(message, ": "+said)
}

// isTransition reports whether a cause is the refusal of a transition rule. All rules that may
// have given its message must be such; a rule with a computed message counts where no other has
// it.
func isTransition(rules []rule, cause metav1.StatusCause) bool {
	var said, computed []rule
	for _, r := range rules {
		switch {
		case r.dynamic:
			computed = append(computed, r)
		case r.mayHaveSaid(strings.TrimSpace(cause.Message)):
			said = append(said, r)
		}
	}
	if len(said) == 0 {
		said = computed
	}
	for _, r := range said {
		if !r.usesOldSelf() {
			return false
		}
	}
	return len(said) > 0
}

// rulesOf lists the validation rules of a version that a CustomResourceDefinition defines.
func rulesOf(crd *unstructured.Unstructured, version string) []rule {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var rules []rule
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["name"] == version {
			rules = appendRules(rules, v["schema"])
		}
	}
	return rules
}

// appendRules adds the rules in a part of a schema.
func appendRules(rules []rule, part any) []rule {
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			rules = appendRules(rules, inner)
		}
	case map[string]any:
		for key, inner := range part {
			if list, ok := inner.([]any); ok && key == "x-kubernetes-validations" {
				rules = append(rules, readRules(list)...)
				continue
			}
			rules = appendRules(rules, inner)
		}
	}
	return rules
}

func readRules(list []any) []rule {
	var rules []rule
	for _, item := range list {
		var r struct {
			Rule              string `json:"rule"`
			Message           string `json:"message"`
			MessageExpression string `json:"messageExpression"`
		}
		if fields, ok := item.(map[string]any); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &r) == nil {
			rules = append(rules, rule{text: strings.TrimSpace(r.Rule), message: strings.TrimSpace(r.Message), dynamic: r.MessageExpression != ""})
		}
	}
	return rules
}
