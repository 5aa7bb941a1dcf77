package orderfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/sortorder"
)

// healthTree holds the health rules of a file of --order: its own, those of
// stacks and those of applications, in the syntax of a rules file. For a
// resource, the rules of its application take precedence, then its stack's,
// then the file's.
type healthTree struct {
	written map[string][]sortorder.HealthRule // by "stack/application", "stack", or "" for the file
	field   map[string]string                 // field of each list, for messages
	order   []string                          // the keys, in file order
	rules   map[string]*health.Rules          // by application; "" for other resources
}

func (h *healthTree) add(name, field string, rules []sortorder.HealthRule) {
	if h.written == nil {
		h.written, h.field = map[string][]sortorder.HealthRule{}, map[string]string{}
	}
	if field != "" {
		field += "."
	}
	h.written[name], h.field[name] = rules, field+"health"
	h.order = append(h.order, name)
}

// compile compiles, for each application, the rules that apply to its
// resources.
func (h *healthTree) compile() error {
	h.rules = map[string]*health.Rules{}
	var errs []error
	for _, name := range h.order {
		if _, err := readRules(h.written[name]); err != nil {
			errs = append(errs, h.located(name, err))
		}
		stack, _, _ := strings.Cut(name, "/")
		all := append([]sortorder.HealthRule{}, h.written[name]...)
		if stack != name {
			all = append(all, h.written[stack]...)
		}
		if name != "" {
			all = append(all, h.written[""]...)
		}
		if rules, err := readRules(all); err == nil {
			h.rules[name] = rules
		}
	}
	return errors.Join(errs...)
}

// located adds the field to the errors of a list of rules.
func (h *healthTree) located(name string, err error) error {
	var errs []error
	place := regexp.MustCompile(`^rules(\[\d+\])`)
	for fault := range strings.Lines(err.Error()) {
		fault = strings.TrimSuffix(fault, "\n")
		if place.MatchString(fault) {
			errs = append(errs, errors.New(place.ReplaceAllString(fault, h.field[name]+"$1")))
		} else {
			errs = append(errs, fmt.Errorf("%s: %s", h.field[name], fault))
		}
	}
	return errors.Join(errs...)
}

// readRules parses rules like those of a rules file; nil if there are none.
func readRules(rules []sortorder.HealthRule) (*health.Rules, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "ordapply.dev/v1alpha1", "kind": "HealthRules", "rules": rules})
	if err != nil {
		return nil, err
	}
	return health.ParseRules(text)
}
