package health

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/strict"
)

const (
	rulesAPIVersion = "ordapply.dev/v1alpha1"
	rulesKind       = "HealthRules"
)

// Rules is a parsed rules file, a list of CEL conditions by kind. A nil *Rules has no
// rules. docs/health.md describes the fields.
type Rules struct {
	rules  []rule
	byKind sync.Map // the []*rule of each schema.GroupKind asked for
}

// Rule defines how objects of some kinds are assessed. docs/health.md describes the fields.
type Rule struct {
	Group      *string `json:"group"`      // nil means any
	Kind       string  `json:"kind"`       // * matches any characters
	ReadyWhen  string  `json:"readyWhen"`  // a CEL condition over self, as the others: the object is ready when it holds
	FailedWhen string  `json:"failedWhen"` // it has failed, which ends the wait

	DegradedWhen  string `json:"degradedWhen"`  // like failedWhen, ends the wait
	UnknownWhen   string `json:"unknownWhen"`   // like failedWhen, ends the wait
	SuspendedWhen string `json:"suspendedWhen"` // not ready because it is suspended on purpose
	MissingWhen   string `json:"missingWhen"`   // not ready because what it creates is missing

	Source string `json:"source"` // where the project documents the status; not used
}

// rule is a Rule in use.
type rule struct {
	Rule
	place    string                     // position in the file: rules[3]
	name     string                     // group/Kind
	compiled func() (conditions, error) // compiles on first use
}

type rulesFile struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Rules      []Rule `json:"rules"`
}

//go:embed builtin.yaml
var builtinFile []byte

// builtin returns the built-in rules. Their conditions are compiled on first
// use.
var builtin = sync.OnceValue(func() *Rules {
	rules, err := readRules(builtinFile)
	if err != nil {
		panic(err) // covered by a test
	}
	return rules
})

// ReadBuiltin reads the built-in rules, as the first assessment does otherwise. It may be called in the
// background.
func ReadBuiltin() { builtin() }

// ParseRules parses a rules file, in YAML or JSON, and compiles all its conditions.
// The error joins all errors, each with its position: rules[3].readyWhen.
func ParseRules(data []byte) (*Rules, error) {
	rules, err := readRules(data)
	if rules != nil {
		err = errors.Join(err, rules.compile())
	}
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// NewRules compiles rules of another file. place is the field of the list, for errors, as
// from ParseRules.
func NewRules(place string, rules []Rule) (*Rules, error) {
	var faults strict.Faults
	rs := newRules(place, rules, &faults)
	if err := errors.Join(faults.Err(), rs.compile()); err != nil {
		return nil, err
	}
	return rs, nil
}

// Then returns these rules followed by others, which apply where these do not.
func (rs *Rules) Then(others ...*Rules) *Rules {
	all := &Rules{}
	for _, part := range append([]*Rules{rs}, others...) {
		if part != nil {
			all.rules = append(all.rules, part.rules...)
		}
	}
	return all
}

// readRules reads a rules file and compiles none of its conditions. With an error it
// returns the readable rules, nil if the text is no rules file.
func readRules(data []byte) (*Rules, error) {
	document, err := strict.Read(data, "a rules file", fmt.Sprintf("apiVersion %s, kind %s and rules", rulesAPIVersion, rulesKind))
	if err != nil {
		return nil, err
	}
	var file rulesFile
	faults := strict.Decode(document, &file)
	if !faults.Under("apiVersion") && !faults.Under("kind") && (file.APIVersion != rulesAPIVersion || file.Kind != rulesKind) {
		return nil, fmt.Errorf("it is not a rules file: its kind is %s and its apiVersion %s; set apiVersion: %s and kind: %s",
			cmp.Or(file.Kind, "empty"), cmp.Or(file.APIVersion, "empty"), rulesAPIVersion, rulesKind)
	}
	rules := newRules("rules", file.Rules, &faults)
	return rules, faults.Err()
}

// newRules adds the faults of rules to reading faults.
func newRules(place string, rules []Rule, faults *strict.Faults) *Rules {
	rs := &Rules{rules: make([]rule, len(rules))}
	for i := range rules {
		r := &rs.rules[i]
		*r = rule{Rule: rules[i], place: plain.Item(place, i)}
		r.name = groupKind(r.groupPattern(), r.Kind)
		r.compiled = sync.OnceValues(r.compile)
		if !faults.Under(r.place) { // else a consequence of a reading fault
			r.check(faults)
		}
	}
	return rs
}

func (r *rule) groupPattern() string {
	if r.Group == nil {
		return "*"
	}
	return *r.Group
}

// check validates a rule without compiling it.
func (r *rule) check(faults *strict.Faults) {
	switch {
	case r.Kind == "":
		faults.Add(r.place+".kind", "is missing; * means every kind")
	case r.ReadyWhen+r.FailedWhen+r.DegradedWhen+r.UnknownWhen+r.SuspendedWhen+r.MissingWhen == "":
		faults.Add(r.place, "has no condition: set readyWhen, failedWhen or both")
	case strings.ContainsAny(r.groupPattern()+r.Kind, `?[]\/`):
		faults.Add(r.place, "%s is not a valid pattern for a kind: only * is special", r.name)
	}
}

func (r *rule) compile() (conditions, error) {
	var c conditions
	var errs []error
	for _, field := range []struct {
		when
		source string
	}{
		{when{field: "failedWhen", verdict: Failed, grade: GradeFailed}, r.FailedWhen},
		{when{field: "degradedWhen", verdict: Failed, grade: GradeDegraded}, r.DegradedWhen},
		{when{field: "unknownWhen", verdict: Failed, grade: GradeUnknown}, r.UnknownWhen},
		{when{field: "readyWhen", verdict: Ready}, r.ReadyWhen},
		{when{field: "suspendedWhen", verdict: Progressing, grade: GradeSuspended}, r.SuspendedWhen},
		{when{field: "missingWhen", verdict: Progressing, grade: GradeMissing}, r.MissingWhen},
	} {
		if field.source == "" {
			continue
		}
		condition, err := condition.Compile(field.source)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %w", r.place, field.field, err))
		}
		field.Condition, field.rule = condition, "rule "+r.name
		c = append(c, field.when)
	}
	return c, errors.Join(errs...)
}

// groupKind returns group/Kind, or Kind in the core group.
func groupKind(group, kind string) string {
	if group == "" {
		return kind
	}
	return group + "/" + kind
}

// compile compiles all rules and joins their errors.
func (rs *Rules) compile() error {
	var errs []error
	for _, r := range rs.rules {
		_, err := r.compiled()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// assess assesses an object by the first rule that matches its kind and applies. A rule
// with a wildcard that waits for a status does not apply to an object without one, because
// not every kind that it matches has a status: its assessment is returned with false.
func (rs *Rules) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	if rs == nil {
		return Assessment{}, false
	}
	var waits Assessment
	for _, r := range rs.of(obj.GroupVersionKind().GroupKind()) {
		p, err := r.compiled()
		if err != nil {
			return invalidRule("rule "+r.name, err), true
		}
		a, ok := p.assess(obj)
		switch optional := a.Verdict == Progressing && r.isWild() && status.IsEmpty(obj.Object["status"]); {
		case ok && !optional:
			return a, true
		case ok && waits.Rule == "":
			waits = a
		}
	}
	return waits, false
}

// of returns the rules for a kind; a stream has many objects of few kinds.
func (rs *Rules) of(kind schema.GroupKind) []*rule {
	if known, ok := rs.byKind.Load(kind); ok {
		return known.([]*rule)
	}
	var found []*rule
	for i := range rs.rules {
		if r := &rs.rules[i]; r.isFor(kind) {
			found = append(found, r)
		}
	}
	rs.byKind.Store(kind, found)
	return found
}

func (r *rule) isWild() bool { return strings.Contains(r.Kind, "*") }

func (r *rule) isFor(kind schema.GroupKind) bool {
	return (r.Group == nil || glob(*r.Group, kind.Group)) && glob(r.Kind, kind.Kind)
}

// glob matches a name; * in the pattern matches any characters.
func glob(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == name
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
