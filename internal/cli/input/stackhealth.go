package input

import (
	"strings"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/sortorder"
)

// healthTree holds the health rules of a file of --order: its own, its stacks' and its
// applications', in the syntax of a rules file.
type healthTree struct {
	rules map[string]*health.Rules // by "stack/application", "stack", or "" for the file
	errs  []error                  // in file order
}

// add adds the rules of an application, a stack or the file, which the field lists.
func (h *healthTree) add(name, field string, written []sortorder.HealthRule) {
	if h.rules == nil {
		h.rules = map[string]*health.Rules{}
	}
	rules := make([]health.Rule, len(written))
	for i, rule := range written {
		rules[i] = health.Rule(rule)
	}
	compiled, err := health.NewRules(field, rules)
	h.rules[name], h.errs = compiled, append(h.errs, err)
}

// of returns the rules for a resource: its application's take precedence, then its stack's,
// then the file's.
func (h *healthTree) of(application string) *health.Rules {
	stack, _, _ := strings.Cut(application, "/")
	if application == "" {
		return h.rules[""]
	}
	return h.rules[application].Then(h.rules[stack], h.rules[""])
}
