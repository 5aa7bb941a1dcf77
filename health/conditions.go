package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/condition"
)

// Conditions are the rule about an object, for programs that evaluate it elsewhere: CEL
// conditions over self, "" where there is none.
type Conditions struct {
	Rule   string // "annotation ordapply.dev/ready-when", "rule cert-manager.io/Certificate"
	Ready  string // ready if it holds, and not before
	Failed string // failed if it holds; it is evaluated before Ready
	// Script reports that the rule is not CEL, but a health check in Lua or Helm's
	// readiness annotations, so that both conditions are empty.
	Script bool
	// BuiltIn reports that the rule comes with this package.
	BuiltIn bool
}

// Conditions returns the rule that decides when an object is ready: the first of its
// annotations, the user's rules, Argo CD's checks and the built-in rules. ok is false for a
// kind that only its status explains, and for the native kinds.
func (a *Assessor) Conditions(obj *unstructured.Unstructured) (c Conditions, ok bool) {
	annotations := obj.GetAnnotations()
	if annotations[readyWhen]+annotations[failedWhen] != "" {
		return Conditions{Rule: "annotation " + readyWhen, Ready: annotations[readyWhen], Failed: annotations[failedWhen]}, true
	}
	if annotations[helmSuccess] != "" && annotations[helmFailure] != "" {
		return Conditions{Rule: "annotation " + helmSuccess, Script: true}, true
	}
	var own *Rules
	if a.RulesOf != nil {
		own = a.RulesOf(obj)
	}
	for _, rules := range []*Rules{own, a.Rules} {
		if c, ok := rules.conditions(obj); ok {
			return c, true
		}
	}
	for _, checks := range []*Customizations{a.ArgoCD, a.ArgoCDFolder} {
		if check, ok := checks.find(obj.GroupVersionKind().Group, obj.GetKind()); ok {
			return Conditions{Rule: checks.source + " " + check.key, Script: true}, true
		}
	}
	c, ok = builtin().conditions(obj)
	c.BuiltIn = ok
	return c, ok
}

// conditions returns the conditions of the first rule for the kind.
func (rs *Rules) conditions(obj *unstructured.Unstructured) (Conditions, bool) {
	if rs == nil {
		return Conditions{}, false
	}
	for _, r := range rs.of(obj.GroupVersionKind().GroupKind()) {
		// A degraded or unknown object ends a wait as a failed one does.
		failed := condition.AnyOf(r.FailedWhen, r.DegradedWhen, r.UnknownWhen)
		return Conditions{Rule: "rule " + r.name, Ready: r.ReadyWhen, Failed: failed}, true
	}
	return Conditions{}, false
}
